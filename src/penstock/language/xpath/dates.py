"""Lexical forms of ``xs:date`` and ``xs:dateTime`` as points in time.

Years have four digits, from 0001 to 9999. Fractions of a second are truncated to milliseconds, and
a form without a time zone is in UTC; XPath 2.0 leaves both to the implementation. The native core's
``date.rs`` is the same.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from penstock.language.limits import MAX_DATE_CHARACTERS
from penstock.language.xpath.ast import DateType

_SPACE: Final = " \t\r\n"
_DATE: Final = r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_TIME: Final = (
    r"T(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(\.(?P<fraction>[0-9]+))?"
)
_ZONE: Final = r"(Z|(?P<sign>[+-])(?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2}))?"
_FORMS: Final = {
    DateType.DATE: re.compile(_DATE + _ZONE),
    DateType.DATE_TIME: re.compile(_DATE + _TIME + _ZONE),
}
_MINUTES_PER_DAY: Final = 24 * 60
_ZONE_MINUTES_MAX: Final = 14 * 60


def milliseconds(date_type: DateType, text: str) -> int | None:
    """Milliseconds from 0001-01-01T00:00:00Z to a point in time; ``None`` if ``text`` is invalid.

    The point in time of a date is its first.
    """
    bare = text.strip(_SPACE)
    form = _FORMS[date_type].fullmatch(bare)
    if form is None or len(bare) > MAX_DATE_CHARACTERS:
        return None
    part = form.groupdict()
    try:
        day = date(int(part["year"]), int(part["month"]), int(part["day"])).toordinal() - 1
    except ValueError:
        return None
    minutes, milli = 0, 0
    if date_type is DateType.DATE_TIME:
        hour, minute, second = int(part["hour"]), int(part["minute"]), int(part["second"])
        fraction = part["fraction"] or ""
        end_of_day = (hour, minute, second) == (24, 0, 0) and not fraction.strip("0")
        if (hour > 23 and not end_of_day) or minute > 59 or second > 59:
            return None
        minutes = hour * 60 + minute
        milli = second * 1000 + int(fraction[:3].ljust(3, "0"))
    if part["sign"]:
        offset = int(part["hours"]) * 60 + int(part["minutes"])
        if int(part["minutes"]) > 59 or offset > _ZONE_MINUTES_MAX:
            return None
        minutes -= offset if part["sign"] == "+" else -offset
    return (day * _MINUTES_PER_DAY + minutes) * 60_000 + milli
