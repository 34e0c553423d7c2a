"""Overlay: dissemination trees that peers build, heal and re-form without a server."""

from penstock.extras import require_links_extra

require_links_extra("msgspec")

from penstock.overlay.agent import AgentOptions, SystemAgent
from penstock.overlay.bucket_interest import (
    BucketDocument,
    BucketInterest,
    BucketModel,
    BucketWorkload,
)
from penstock.overlay.interest import Interest, InterestModel, Summary
from penstock.overlay.limits import PeerLimits
from penstock.overlay.membership import Membership
from penstock.overlay.membership.transitions import MembershipState
from penstock.overlay.message_codec import MessageCodec
from penstock.overlay.options import ChildChoice, PeerOptions, Placement
from penstock.overlay.pattern_interest import PatternInterest, PatternModel
from penstock.overlay.pattern_matcher import PatternMatcher
from penstock.overlay.peer import Peer
from penstock.overlay.peer_messages import AnyPeerMessage
from penstock.overlay.peer_outputs import (
    ChildLost,
    Connected,
    Deliver,
    Disconnected,
    EpochChanged,
    GapReported,
    Left,
    PeerOutput,
    Send,
)
from penstock.overlay.summary_tree import DataSummaryTree
from penstock.overlay.window_bitmap import WindowBitmap

__all__ = [
    "AgentOptions",
    "AnyPeerMessage",
    "BucketDocument",
    "BucketInterest",
    "BucketModel",
    "BucketWorkload",
    "ChildChoice",
    "ChildLost",
    "Connected",
    "DataSummaryTree",
    "Deliver",
    "Disconnected",
    "EpochChanged",
    "GapReported",
    "Interest",
    "InterestModel",
    "Left",
    "Membership",
    "MembershipState",
    "MessageCodec",
    "PatternInterest",
    "PatternMatcher",
    "PatternModel",
    "Peer",
    "PeerLimits",
    "PeerOptions",
    "PeerOutput",
    "Placement",
    "Send",
    "Summary",
    "SystemAgent",
    "WindowBitmap",
]
