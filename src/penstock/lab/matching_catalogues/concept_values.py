"""Generates the values of concepts, in the formats of one university."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

_TOPICS: Final = (
    ("Algebra", "MATH"), ("Botany", "BIOL"), ("Ceramics", "ART"), ("Databases", "CS"),
    ("Ecology", "BIOL"), ("Finance", "ECON"), ("Geology", "GEOL"), ("History of Rome", "HIST"),
    ("Jazz", "MUS"), ("Kinematics", "PHYS"), ("Linguistics", "LING"), ("Microbiology", "BIOL"),
    ("Number Theory", "MATH"), ("Optics", "PHYS"), ("Poetry", "ENGL"), ("Spanish", "SPAN"),
    ("Statistics", "STAT"), ("Theatre", "THEA"), ("Thermodynamics", "PHYS"), ("Zoology", "BIOL"),
)  # fmt: skip
_TITLES: Final = (
    "Introduction to {}", "{} I", "{} II", "Advanced {}", "Seminar in {}", "Topics in {}",
    "{} Laboratory", "Independent Study: {}",
)  # fmt: skip
_FAMILY: Final = (
    "Adams", "Baker", "Carr", "Dietz", "Evans", "Flores", "Gupta", "Hansen", "Ito", "Jones",
    "Kim", "Lopez", "Meyer", "Nguyen", "Olsen", "Park", "Quinn", "Reyes", "Smith", "Tanaka",
    "Usman", "Vogel", "Walsh", "Xu", "Young", "Zeller",
)  # fmt: skip
_GIVEN: Final = ("Ann", "Bo", "Carla", "Dev", "Erik", "Fay", "Gil", "Hana", "Ian", "Jo", "Kai")
_HALLS: Final = (
    "ELIOT", "VOLLUM", "Physics", "Library", "Todd", "Bolton", "Curtin", "Hall of Arts", "Engel",
    "Garland", "Merrill", "Chapman", "Norris", "Science", "Sloan", "Wilson",
)  # fmt: skip
_DEPARTMENTS: Final = ("Mathematics", "Life Sciences", "Fine Arts", "Humanities", "Physics")
_LEVELS: Final = ("Undergraduate", "Graduate", "U", "G", "U/G")
_TERMS: Final = ("Fall 2026", "Spring 2027", "Autumn", "2026W")
_SENTENCES: Final = (
    "Covers the main results on {0} and their applications.",
    "Weekly problem sets, two midterm examinations and a final project.",
    "Students read primary sources and discuss them in class.",
    "Methods of {0} are compared with current research.",
    "Field trips are part of the course.",
)
_REMARKS: Final = ("Consent of instructor required.", "Meets with honors section.", "Lab fee $40.")
_WEEK: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_LETTERS: Final = ("M", "T", "W", "Th", "F")


class ConceptValues:
    """Generates values; those of one course belong together."""

    def __init__(self, rnd: Random, *, clock: str, days: str) -> None:
        self._rnd = rnd
        self._clock = clock
        self._day_names = _WEEK if days == "words" else _LETTERS
        # Universities share some buildings' names, but not all.
        self._halls = rnd.sample(_HALLS, 6)
        self._people = [f"{rnd.choice(_GIVEN)} {name}" for name in rnd.sample(_FAMILY, 14)]
        if rnd.random() < 0.5:
            self._people = [", ".join(reversed(each.split(" "))) for each in self._people]
        self._topic, self._subject = _TOPICS[0]
        self._number = self._start = 0
        self._values: dict[str, Callable[[], str]] = {
            "building": lambda: rnd.choice(self._halls),
            "capacity": lambda: str(rnd.choice((12, 20, 24, 30, 45, 80, 120))),
            "code": lambda: f"{self._subject} {self._number}",
            "days": self._days,
            "department-name": lambda: rnd.choice(_DEPARTMENTS),
            "description": self._description,
            "email": lambda: f"{rnd.choice(_FAMILY).lower()}@example.edu",
            "end": lambda: self._time(self._start + 50),
            "enrolled": lambda: str(rnd.randint(0, 90)),
            "free": lambda: str(rnd.randint(0, 40)),
            "hours": lambda: f"{self._time(self._start)}-{self._time(self._start + 50)}",
            "instructor": lambda: rnd.choice(self._people),
            "lab": lambda: rnd.choice(("L", "N")),
            "level": lambda: rnd.choice(_LEVELS),
            "location": lambda: f"{rnd.choice(self._halls)} {self._room()}",
            "number": lambda: str(self._number),
            "prerequisite": lambda: f"{self._subject} {rnd.randint(100, 299)}",
            "registration": lambda: str(rnd.randint(10000, 99999)),
            "remark": lambda: rnd.choice(_REMARKS),
            "restriction": lambda: rnd.choice(("Majors only", "Seniors", "No freshmen")),
            "room": self._room,
            "section": lambda: f"{rnd.randint(1, 12):02}",
            "section-remark": lambda: rnd.choice(_REMARKS),
            "start": self._new_start,
            "subject": lambda: self._subject,
            "term": lambda: rnd.choice(_TERMS),
            "title": lambda: rnd.choice(_TITLES).format(self._topic),
            "units": lambda: rnd.choice(("1.0", "3", "3.0", "4", "0.5", "1-6")),
        }

    def begin_course(self) -> None:
        """Start a course with a topic, a number and a time of its own."""
        self._topic, self._subject = self._rnd.choice(_TOPICS)
        self._number = self._rnd.randint(100, 599)
        self._new_start()

    def of(self, concept: str) -> str:
        """A value of a concept."""
        return self._values[concept]()

    def _new_start(self) -> str:
        self._start = 60 * self._rnd.randint(8, 17) + self._rnd.choice((0, 10, 30))
        return self._time(self._start)

    def _time(self, minutes: int) -> str:
        hour, minute = divmod(minutes, 60)
        if self._clock == "24":
            return f"{hour:02}:{minute:02}"
        if self._clock == "compact":
            return f"{hour:02}{minute:02}"
        half = "" if self._clock == "range" else "AM" if hour < 12 else "PM"
        return f"{(hour - 1) % 12 + 1}:{minute:02}{half}"

    def _days(self) -> str:
        count = self._rnd.randint(1, 3)
        chosen = sorted(self._rnd.sample(range(5), count))
        separator = " " if self._day_names is _WEEK else self._rnd.choice(("", "-"))
        return separator.join(self._day_names[each] for each in chosen)

    def _room(self) -> str:
        return self._rnd.choice((str(self._rnd.randint(1, 420)), f"B{self._rnd.randint(1, 30)}"))

    def _description(self) -> str:
        count = self._rnd.randint(1, 4)
        return " ".join(self._rnd.sample(_SENTENCES, count)).format(self._topic)
