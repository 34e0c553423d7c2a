"""The deliveries to a subscriber that it has not acknowledged: their numbers and sizes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from penstock.service.router.limits import (
    SUBSCRIBER_DELIVERIES_MAX,
    SUBSCRIBER_DELIVERY_BYTES_MAX,
)
from penstock.workspace.router_records import SubscriberState


class UnacknowledgedDeliveries:
    """Counts the deliveries that a store keeps for a subscriber, and their bytes.

    There is a size for each number after the acknowledged one, up to the last.

    Parameters
    ----------
    numbers
        The numbers, which are changed.
    sizes
        The bytes of stored deliveries by number.
    """

    def __init__(self, numbers: SubscriberState, sizes: Mapping[int, int]) -> None:
        self.numbers = numbers
        waiting = range(numbers.acknowledged + 1, numbers.last + 1)
        self._sizes = deque(sizes.get(number, 0) for number in waiting)
        self._bytes = sum(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, size: int) -> int:
        """Adds a delivery; returns its number."""
        self.numbers.last += 1
        self._sizes.append(size)
        self._bytes += size
        return self.numbers.last

    def acknowledge(self, upto: int) -> bool:
        """Removes the deliveries up to a number; returns whether there were any."""
        count = min(upto, self.numbers.last) - self.numbers.acknowledged
        for _ in range(count):
            self._remove_oldest()
        return count > 0

    def discard_excess(self) -> int:
        """Removes the oldest deliveries past a limit; returns their number.

        A delivery that is alone may be longer.
        """
        discarded = 0
        while len(self._sizes) > SUBSCRIBER_DELIVERIES_MAX or (
            len(self._sizes) > 1 and self._bytes > SUBSCRIBER_DELIVERY_BYTES_MAX
        ):
            self._remove_oldest()
            discarded += 1
        return discarded

    def _remove_oldest(self) -> None:
        self.numbers.acknowledged += 1
        self._bytes -= self._sizes.popleft()
