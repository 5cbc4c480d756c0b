"""What will fail for a target model, in the order in which the engine would meet it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from patchset.analysis.delegation import Delegation
from patchset.analysis.findings import Cure, Finding, Kind, with_cures
from patchset.analysis.loader import Target, config_reads, model_read
from patchset.analysis.modules import Program
from patchset.analysis.registry import (
    MODELS,
    Registered,
    annotated_config,
    architecture,
    config_class,
    near,
    snake,
    text_type,
)
from patchset.analysis.serving import Asked, ask
from patchset.analysis.source import Source
from patchset.analysis.target import TargetModel
from patchset.analysis.things import ClassRef
from patchset.analysis.values import Values
from patchset.analysis.whitelist import whitelist

LIBRARY = "vllm"
AUXILIARY = frozenset({"eagle3", "extract_hidden_states", "dflash"})
"""The methods for which the runner asks the target for auxiliary hidden states."""
DRAFTED = frozenset({"eagle", "eagle3", "dflash"})
"""The methods whose drafter takes the target's embeddings and image token."""
INHERITED = frozenset(
    {"architectures", "bos_token_id", "eos_token_id", "pad_token_id", "model_type"}
)
"""Fields that transformers gives to every config."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One question that the engine asks, and what the code answers."""

    question: str
    answer: str
    place: str | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Prognosis:
    """All questions for one target and method, in the engine's order."""

    target: str
    method: str
    steps: tuple[Step, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that will fail, in the order in which it would be met."""
        return tuple(each for step in self.steps for each in step.findings)

    @property
    def ok(self) -> bool:
        """Whether nothing was found that will fail."""
        return not self.findings


def prognose(
    target: TargetModel,
    method: str,
    sources: Mapping[str, Source],
    patches: Sequence[Cure] = (),
) -> Prognosis:
    """Walk the questions that the engine asks of a target model, on the source alone.

    Asked are the registry, the whitelist of the speculative config, the loader of
    the drafter, and the runner with its protocol: of the outermost class, and of the
    class behind the attribute that it delegates through.
    """
    values = Values.over(Program(packages={LIBRARY: sources[LIBRARY]}), LIBRARY)
    walk = _Walk(values=values, target=target, method=method)
    steps = tuple(
        Step(
            question=step.question,
            answer=step.answer,
            place=step.place,
            findings=with_cures(step.findings, patches),
        )
        for step in walk.steps()
    )
    return Prognosis(target=walk.served.architecture, method=method, steps=steps)


@dataclass(eq=False, kw_only=True)
class _Walk:
    values: Values
    target: TargetModel
    method: str
    served: Registered = field(init=False)
    delegation: Delegation = field(init=False)
    config: ClassRef | None = field(init=False)

    def __post_init__(self) -> None:
        found = [architecture(self.values, name) for name in self.target.architectures]
        known = [each for each in found if each.listed and each.cls is not None]
        self.served = known[0] if known else found[0]
        self.delegation = Delegation(values=self.values, target=self.target)
        self.config = None
        if self.target.model_type is not None:
            self.config = config_class(self.values, self.target.model_type)
        elif self.served.cls is not None and self.target.config is None:
            self.config = annotated_config(self.values, self.served.cls)

    def steps(self) -> Iterator[Step]:
        yield self._registered()
        cls = self.served.cls
        if cls is None:
            return  # the engine goes no further
        yield self._whitelisted()
        if self.method in DRAFTED:
            yield self._fields(cls)
            yield from self._embeddings(cls)
        if self.method in AUXILIARY:
            asked = Asked(values=self.values, delegation=self.delegation)
            for answer in ask(asked, cls):
                yield Step(
                    question=answer.question,
                    answer=answer.answer,
                    place=answer.cls.place,
                    findings=tuple(
                        _finding(
                            Kind.PROTOCOL,
                            place=answer.cls.place,
                            symbol=answer.cls.dotted,
                            found=found,
                            wanted=wanted,
                        )
                        for found, wanted in answer.lacking
                    ),
                )

    def _registered(self) -> Step:
        question = "which class serves the architecture"
        name, cls = self.served.architecture, self.served.cls
        if self.served.listed and cls is not None:
            return Step(question=question, answer=cls.dotted, place=cls.place)
        module = self.values.program.module(f"{MODELS}.registry")
        path = module.path if module is not None else "vllm"
        names = near(self.values, name)
        wanted = "the registry does not list it"
        if cls is not None:
            wanted += f"; {cls.place} defines a class of that name"
        elif names:
            wanted += f"; near: {', '.join(names)}"
        finding = _finding(
            Kind.MISSING_NAME,
            place=f"{path}:1",
            symbol=f"{MODELS}.registry.{name}",
            found=name,
            wanted=wanted,
        )
        return Step(question=question, answer="none", findings=(finding,))

    def model_type(self) -> tuple[str, str]:
        """Return what the whitelist gets to see, and how that is known."""
        inner = (self.target.text_config or {}).get("model_type")
        if isinstance(inner, str):
            where = "text_config" if self.target.is_nested else "config"
            return inner, f"{where}.model_type"
        if self.config is not None:
            text = text_type(self.values, self.config)
            if text is not None:
                return text, f"the default of {self.config.qualname}.text_config"
        name = self.served.architecture
        for end in ("ForCausalLM", "ForConditionalGeneration", "Model"):
            name = name.removesuffix(end)
        return snake(name), "by the name of the architecture"

    def _whitelisted(self) -> Step:
        question = f"does {self.method} accept the model type"
        found = whitelist(self.values.program, self.method)
        if found is None:
            return Step(question=question, answer="this vLLM does not ask")
        model_type, source = self.model_type()
        place = f"{found.path}:{found.line}"
        if found.allows(model_type) or (
            source.startswith("by") and _loosely(model_type, found.names)
        ):
            return Step(question=question, answer=f"{model_type}: yes", place=place)
        finding = _finding(
            Kind.WHITELIST,
            place=place,
            symbol=found.definition,
            found=model_type,
            wanted=f"{found.name} has {', '.join(found.names)} (asked: {source})",
        )
        return Step(
            question=question,
            answer=f"{model_type}: no",
            place=place,
            findings=(finding,),
        )

    def _fields(self, cls: ClassRef) -> Step:
        multimodal = any(
            isinstance(each, ClassRef) and each.node.name == "SupportsMultiModal"
            for each in self.values.classes.order(cls)
        )
        target = Target(class_name=cls.node.name, is_multimodal=multimodal)
        reads = config_reads(self.values, target)
        lacking = [each for each in reads if self._lacks(each.names)]
        findings = tuple(
            _finding(
                Kind.CONFIG_FIELD,
                place=f"{each.path}:{each.line}",
                symbol=f"{cls.dotted}.config.{'.'.join(each.names)}",
                found=each.names[-1],
                wanted=self._fields_there(),
            )
            for each in lacking
        )
        names = ", ".join(".".join(each.names) for each in reads)
        place = f"{reads[0].path}:{reads[0].line}" if reads else None
        return Step(
            question="does the config have what the drafter's loader reads of it",
            answer=f"it reads {names}" if names else "it reads nothing of it",
            place=place,
            findings=findings,
        )

    def _lacks(self, names: tuple[str, ...]) -> bool:
        """Whether the config surely lacks a field: only vLLM's own class tells."""
        if self.target.has(names) or names[0] in INHERITED:
            return False
        if self.config is None:
            return False
        given = self.values.attributes.given(self.config, names[0])
        if (
            given is None
            or given
            or self.values.classes.scope(self.config).final.get(names[0])
        ):
            return len(names) > 1 and self.target.has(names[:-1])
        return "attribute_map" not in self.values.classes.scope(self.config).final

    def _fields_there(self) -> str:
        name = self.config.qualname if self.config is not None else "the config"
        place = self.config.place if self.config is not None else ""
        keys = [
            key
            for key in (self.target.config or {})
            if "token" in key and key not in INHERITED
        ]
        more = f"; config.json has {', '.join(sorted(keys))}" if keys else ""
        return f"{name} ({place}) has no such field{more}"

    def _embeddings(self, cls: ClassRef) -> Iterator[Step]:
        read = model_read(self.values)
        attr = self.delegation.language_model(cls)
        inner = self.delegation.behind(cls, attr) if attr is not None else cls
        if read is None or inner is None:
            return
        given = self.values.attributes.given(inner, "model")
        if given is None or given:
            return
        finding = _finding(
            Kind.PROTOCOL,
            place=f"{read.path}:{read.line}",
            symbol=inner.dotted,
            found="model",
            wanted=f"{inner.qualname} ({inner.place}) is what get_language_model() "
            "returns, and it has no model",
        )
        yield Step(
            question="where are the target's embeddings",
            answer="not where the drafter's loader looks",
            place=finding.path,
            findings=(finding,),
        )


def _loosely(model_type: str, names: Sequence[str]) -> bool:
    plain = model_type.replace("_", "")
    return any(name.replace("_", "") in plain for name in names)


def _finding(
    kind: Kind, *, place: str, symbol: str, found: str, wanted: str
) -> Finding:
    path, _, line = place.rpartition(":")
    return Finding(
        kind=kind,
        client=LIBRARY,
        path=path,
        line=int(line),
        symbol=symbol,
        found=found,
        wanted=wanted,
    )
