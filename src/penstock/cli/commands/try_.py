"""``penstock try``: shows what a query would match, before anyone subscribes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from penstock.cli.console import (
    error_as_dict,
    note,
    place_of,
    plural,
    print_json,
    print_line,
    progress,
    show_error,
)
from penstock.cli.document_inputs import DocumentInput, document_inputs
from penstock.cli.exit_codes import ExitCode
from penstock.cli.input_files import read_mapping
from penstock.cli.options import (
    DOCUMENTS_HELP,
    EXISTING_FILE,
    DefaultNamespaceOption,
    HeaderOption,
    JsonOption,
    KeywordsOption,
    NamespaceOption,
    WhereOption,
    bindings,
    header_fields,
    refuse_options,
)
from penstock.cli.result_format import answer_as_dict, fragment_as_dict, one_line
from penstock.cli.tokenizer_arguments import (
    FoldDiacriticsOption,
    SplitNamesOption,
    UnifyAbbreviationsOption,
    UnifyApostrophesOption,
    chosen_tokenizer,
)
from penstock.errors import DocumentError, PenstockError, QueryError

if TYPE_CHECKING:
    from penstock.documents import Fragment
    from penstock.language import TokenizerOptions
    from penstock.matching import Answer, Counters
    from penstock.matching.answers import Form as AnswerForm
    from penstock.mediation import Mapping as SchemaMapping

_ID = "query"


class Form(StrEnum):
    """What to print of an answer; the values of :data:`penstock.matching.answers.Form`."""

    PATHS = "paths"
    SUBTREE = "subtree"
    IDS = "ids"


def try_(
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY",
            help="An XPath query. With --keywords leave it out: all arguments are documents.",
            show_default=False,
        ),
    ],
    documents: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DOCUMENT", help=DOCUMENTS_HELP, show_default=False),
    ] = None,
    *,
    keywords: KeywordsOption = None,
    namespace: NamespaceOption = None,
    default_namespace: DefaultNamespaceOption = None,
    where: WhereOption = None,
    header: HeaderOption = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            help="A mapping file; the XPath query is tried on the rewritten documents.",
            **EXISTING_FILE,
        ),
    ] = None,
    form: Annotated[
        Form | None,
        typer.Option(
            help="What to print of each answer to keywords: the paths down to the words (default),"
            " the complete element, or just its identity.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Print only the N best answers to keywords per document."
        ),
    ] = None,
    fold_diacritics: FoldDiacriticsOption = None,
    split_names: SplitNamesOption = None,
    unify_apostrophes: UnifyApostrophesOption = None,
    unify_abbreviations: UnifyAbbreviationsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a query would match, before subscribing.

    For each matching document, prints the fragments that the XPath query selects, or the answers
    to the keywords, best first. The last line is the match rate.
    """
    trial: _Trial
    test = _HeaderTest(header_fields(where, "--where"), header_fields(header))
    tokenizer = {
        "fold_diacritics": fold_diacritics,
        "split_names": split_names,
        "unify_apostrophes": unify_apostrophes,
        "unify_abbreviations": unify_abbreviations,
    }
    keyword_options = {
        "--form": form,
        "--limit": limit,
        **{f"--{name.replace('_', '-')}": value is not None for name, value in tokenizer.items()},
    }
    xpath_options = {
        "--namespace": namespace,
        "--default-namespace": default_namespace,
        "--mapping": mapping,
    }
    if keywords is not None:
        refuse_options(xpath_options, "applies to XPath queries, not to keywords")
        documents = [Path(query), *(documents or ())]
        trial = _KeywordTrial(
            keywords, test, (form or Form.PATHS).value, limit, chosen_tokenizer(tokenizer)
        )
    else:
        refuse_options(keyword_options, "applies to keywords, not to XPath queries")
        trial = _PathTrial(
            query,
            bindings(namespace),
            default_namespace,
            test,
            None if mapping is None else read_mapping(mapping, as_json=as_json),
        )
    _run(trial, document_inputs(documents or ()), as_json=as_json)


@dataclass(frozen=True, slots=True)
class _HeaderTest:
    """Header fields that the query requires, and those of the documents."""

    where: Mapping[str, str]
    header: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Result:
    """What a query found in a document."""

    counters: Counters
    errors: Sequence[DocumentError]
    fragments: Sequence[Fragment] = ()
    """Selected by an XPath query."""
    answers: Sequence[Answer] = ()
    """Answers to keywords, best first."""


class _Trial(Protocol):
    """A query to be tried on documents."""

    query: str
    noun: str
    """What the query finds, in the singular."""

    def prepare(self) -> str | None:
        """Indexes the query; returns the reason if it can never match.

        Raises
        ------
        QueryError
            The query is refused.
        """

    def result(self, document: DocumentInput) -> _Result:
        """Tries the query on a document."""

    def advice(self, document: DocumentInput) -> Sequence[str]:
        """What may be wrong with the query, given a document that it does not match."""


class _PathTrial:
    """An XPath query, matched through a mapping if there is one."""

    noun = "fragment"

    def __init__(
        self,
        query: str,
        namespaces: Mapping[str, str],
        default_namespace: str | None,
        test: _HeaderTest,
        mapping: SchemaMapping | None = None,
    ) -> None:
        from penstock.matching import SubscriptionIndex

        self.query = query
        self._test = test
        self._namespaces = namespaces
        self._default_namespace = default_namespace
        self._mapping = mapping
        self._index = SubscriptionIndex()

    def prepare(self) -> str | None:
        return self._index.add(
            _ID,
            self.query,
            namespaces=self._namespaces,
            default_namespace=self._default_namespace,
            where=self._test.where,
        )

    def result(self, document: DocumentInput) -> _Result:
        from penstock.matching import Counters
        from penstock.mediation import MediatedMatcher

        matcher = self._index.matcher()
        if self._mapping is None:
            matches = document.match(matcher, fragments=True, header=self._test.header)
        else:
            mediated = MediatedMatcher(matcher)
            matches = mediated.match(
                document.content(), self._mapping, fragments=True, header=self._test.header
            )
        if matches.work_error is not None:  # unknown, so neither matched nor unmatched
            counters = Counters.of_one(matches=0, refused=True, work=matches.counters.work)
            return _Result(counters, [matches.work_error])
        return _Result(matches.counters, matches.errors, matches.fragments.get(_ID, ()))

    def advice(self, document: DocumentInput) -> Sequence[str]:
        from penstock.mediation import MediatedMatcher

        mediated = MediatedMatcher(self._index.matcher())
        explanation = mediated.explain(
            document.content(), self._mapping, _ID, header=self._test.header
        )
        if explanation.header_failures:
            return [str(explanation).partition("\n")[2].strip()]
        return [str(each) for each in explanation.failures if each.other_namespaces]


class _KeywordTrial:
    """Keywords, with the form and the maximum number of answers per document."""

    noun = "answer"

    def __init__(
        self,
        query: str,
        test: _HeaderTest,
        form: AnswerForm,
        limit: int | None,
        tokenizer: TokenizerOptions,
    ) -> None:
        from penstock.matching import KeywordIndex

        self.query = query
        self._test = test
        self._form: AnswerForm = form
        self._limit = limit
        self._index = KeywordIndex(tokenizer=tokenizer)

    def prepare(self) -> str | None:
        self._index.add(_ID, self.query, where=self._test.where)
        return None  # keywords can always match

    def result(self, document: DocumentInput) -> _Result:
        from penstock.matching import Counters

        matcher = self._index.matcher()
        if document.is_pipe:
            document.content()  # kept, because answers need a second reading
        matches = document.match(matcher, header=self._test.header)
        if not len(matches):
            return _Result(matches.counters, matches.errors)
        try:
            found = matcher.answers(document.content(), [_ID], form=self._form, limit=self._limit)
        except DocumentError as reason:  # locating answers has limits that matching has not
            counters = Counters.of_one(matches=0, refused=True, work=matches.counters.work)
            return _Result(counters, [reason])
        return _Result(matches.counters, matches.errors, answers=found[_ID])

    def advice(self, document: DocumentInput) -> Sequence[str]:
        return ()


def _run(trial: _Trial, documents: Sequence[DocumentInput], *, as_json: bool) -> None:
    from penstock.documents.failure_report import PROCESS_EXITS, internal_error
    from penstock.matching import Counters, Matches

    try:
        never = trial.prepare()
    except QueryError as error:
        show_error(error, source=trial.query, as_json=as_json)
        raise typer.Exit(ExitCode.INPUT_REFUSED) from error
    counters = Counters()
    unmatched: DocumentInput | None = None
    for document in progress(documents, "trying"):
        try:
            result = trial.result(document)
        except (*PROCESS_EXITS, PenstockError, OSError):
            raise
        except BaseException as failure:  # of this document only
            matches = Matches.of_refused(internal_error(failure, document.reported_content()))
            result = _Result(matches.counters, matches.errors)
        counters += result.counters
        if result.counters.unmatched:
            unmatched = unmatched or document
        if as_json:
            print_json(_as_dict(document.path, trial, result))
        else:
            _print_text(document.path, trial, result)
    read = counters.documents - counters.refused
    rate = counters.matched / read if read else 0.0
    advice: Sequence[str] = ()
    if unmatched is not None and not counters.matched and never is None:
        advice = trial.advice(unmatched)
    if as_json:
        print_json(
            {
                "type": "summary",
                "documents": counters.documents,
                "matched": counters.matched,
                "unmatched": counters.unmatched,
                "refused": counters.refused,
                "rate": rate,
                "never_matches": never,
                **({"advice": advice} if advice else {}),
            }
        )
        return
    refused = f"; {counters.refused:,} refused" if counters.refused else ""
    note(f"matched {counters.matched:,} of {plural(read, 'document')} ({rate:.1%}){refused}")
    if never is not None:
        note(f"this query never matches: {never}")
    for line in advice:
        note(f"note: {unmatched}, {line}")


def _print_text(path: Path, trial: _Trial, result: _Result) -> None:
    for error in result.errors:
        show_error(error, place=place_of(path, error))
    count = len(result.fragments) + len(result.answers)
    if not count:
        return
    print_line(f"{path}: {plural(count, trial.noun)}")
    for fragment in result.fragments:
        print_line((f"    {one_line(fragment.to_xml())}", "cyan"))
    for answer in result.answers:
        print_line(f"    {answer}")
        if answer.fragment is not None:
            print_line((f"        {one_line(answer.fragment.to_xml())}", "cyan"))


def _as_dict(path: Path, trial: _Trial, result: _Result) -> dict[str, Any]:
    row: dict[str, Any] = {
        "type": "document",
        "document": str(path),
        "matched": result.counters.matched > 0,
    }
    if isinstance(trial, _KeywordTrial):
        row["answers"] = [answer_as_dict(each) for each in result.answers]
    else:
        row["fragments"] = [fragment_as_dict(each) for each in result.fragments]
    if result.errors:
        row["error"] = error_as_dict(result.errors[0])
    return row
