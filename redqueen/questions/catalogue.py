"""Finding a domain by its name: those shipped, and the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from redqueen.catalogue import Catalogue
from redqueen.protocols import Demonstrator, Domain
from redqueen.types import CLOSED, RedQueenError

DOMAINS: Mapping[str, str] = MappingProxyType(
    {
        "sums": "redqueen.questions.small.sums:Sums",
        "verified": "redqueen.questions.verifying:verified",
        "matchups": "redqueen.questions.small.matchups:Matchups",
        "red_team": "redqueen.questions.small.red_team:RedTeamWords",
        "step_traces": "redqueen.questions.small.step_traces:StepTraces",
        "known": "redqueen.questions.small.known:Known",
        "chain": "redqueen.questions.small.known:Chain",
        "dataset": "redqueen.questions.dataset:Dataset",
        "instructions": "redqueen.questions.dataset:instructions",
        "preferences": "redqueen.questions.dataset:preferences",
        "reasoning_gym": "redqueen.adapters.reasoning_gym:Reasoning",
        "tool_sums": "redqueen.questions.small.tool_sums:ToolSums",
        "variants": "redqueen.questions.small.variants:Variants",
        "growing": "redqueen.questions.small.growing:Growing",
        "documents": "redqueen.questions.small.documents:Documents",
        "facts": "redqueen.questions.small.facts:Facts",
        "knowledge": "redqueen.questions.small.knowledge:Knowledge",
        "concepts": "redqueen.questions.small.concepts:Concepts",
        "templates": "redqueen.questions.small.templates:Templates",
        "judged": "redqueen.questions.judging:judged",
        "programs": "redqueen.questions.programs:programs",
        "expressions": "redqueen.questions.expressions:expressions",
    }
)
_CATALOGUE = Catalogue("domain", DOMAINS, "redqueen.questions")
MOST_LEVELS = 1000  # problems of each are made and measured
_PARTS = ("name", "kinds", "levels", "seeds", "sources", "invite", "read", "right", "problems")


def find_domain(spec: str) -> Domain:
    """The domain that a specification names: "sums", "sums:digits=3", "path/to/file.py:MyDomain",
    "some.module:MyDomain", or an entry point of the group `redqueen.questions`. Raises RedQueenError with one line
    that says what is wrong."""
    domain = _CATALOGUE.find(spec)
    missing = [part for part in _PARTS if getattr(domain, part, None) is None]
    if missing:
        raise RedQueenError(f"{spec!r} is not a domain: {type(domain).__name__} has no {' and no '.join(missing)}")
    if not domain.levels:
        raise RedQueenError(f"the domain {spec!r} has no levels, and so no problems: see its settings")
    if len(domain.levels) > MOST_LEVELS:
        raise RedQueenError(f"the domain {spec!r} has {len(domain.levels)} levels, more than {MOST_LEVELS}")
    return cast(Domain, domain)


def find_open_domain(spec: str) -> Domain:
    """The domain that a specification names, one to which tasks may be proposed. Raises RedQueenError where it refuses
    them all."""
    domain = find_domain(spec)
    invitation = domain.invite(domain.kinds[0], domain.seeds()[:1], 0)
    if domain.read([invitation], [""]) == [CLOSED]:
        raise RedQueenError(
            f"the domain {domain.name} is closed, so nobody can propose tasks to it: try --domain sums, or a domain of "
            "your own"
        )
    return domain


def demonstrator(domain: Domain) -> Demonstrator:
    """The domain as one that shows how its roles are played. Raises RedQueenError where it does not."""
    if getattr(domain, "demonstrations", None) is None:
        raise RedQueenError(f"the domain {domain.name} has no demonstrations(count, rng) to imitate")
    return cast(Demonstrator, domain)
