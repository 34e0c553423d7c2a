"""The paper's running example: a university's schema, the global one, and a document."""

from __future__ import annotations

LOCAL = """\
penstock schema 1

university
  faculty*
    @name
    department+
      @name
      course*
        @code
        title text
        time? text
        location? text
        instructor?
          name text
        TAs?
          TA+ text
  library
    author*
      name text
      article*
        title text
        year text
"""

GLOBAL = """\
penstock schema 1

university
  faculty*
    @name
  dept*
    @name
    course*
      code text
      title text
      instructor?
        name text
        TAs?
          TA+ text
      schedule?
        time? text
        location? text
  library
    article*
      title text
      year text
      author
        name text
"""

MATCHING = """\
penstock matching 1
/university                                          /university
/university/faculty                                  /university/faculty
/university/faculty/@name                            /university/faculty/@name
/university/faculty/department                       /university/dept
/university/faculty/department/@name                 /university/dept/@name
/university/faculty/department/course                /university/dept/course
/university/faculty/department/course/@code          /university/dept/course/code
/university/faculty/department/course/title          /university/dept/course/title
/university/faculty/department/course/time           /university/dept/course/schedule/time
/university/faculty/department/course/location       /university/dept/course/schedule/location
/university/faculty/department/course/instructor     /university/dept/course/instructor
/university/faculty/department/course/instructor/name /university/dept/course/instructor/name
/university/faculty/department/course/TAs            /university/dept/course/instructor/TAs
/university/faculty/department/course/TAs/TA         /university/dept/course/instructor/TAs/TA
/university/library                                  /university/library
/university/library/author                           /university/library/article/author
/university/library/author/name                      /university/library/article/author/name
/university/library/author/article                   /university/library/article
/university/library/author/article/title             /university/library/article/title
/university/library/author/article/year              /university/library/article/year
"""

MAPPING = """\
penstock mapping 1

university
  faculty*
    @name
    => upgrade+
    department+
      @name
      => rename dept
      course*
        @code
        => to-element @code
        => downgrade (TAs) into instructor
        => insert schedule (location, time)
        title text
        time? text
        location? text
        instructor?
          name text
        TAs?
          TA+ text
  library
    author*
      => exchange article
      name text
      article*
        title text
        year text
"""
