"""The state table, row by row, and every state that it can tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from patchset.errors import Problem
from patchset.model import FileState, Output, PatchState, Subject
from patchset.plan import (
    Bytes,
    Forget,
    Golden,
    Keep,
    Refuse,
    Step,
    Write,
    expected,
    file_row,
    forced,
    memory,
    needs_folding,
    obstacle,
    outputs_by_digest,
    patch_rows,
    recipe,
    step,
)
from tests.values import (
    EDIT,
    PATH,
    digest,
    make_distribution,
    make_file,
    make_patch,
    make_subject,
    output,
)

A, B = make_patch("a"), make_patch("b")
OTHER_EDIT = digest("other codemods")
W = Bytes(digest=digest("W"), patches=(A,), content=b"W")
BASE = Bytes(digest=digest("R"))
TROUBLE = Problem(kind="trouble", message="trouble", hint="mend it")


def kind_of(decided: Step) -> str:
    assert isinstance(decided, Refuse)
    return decided.problem.kind


def states(
    subject: Subject, wanted: Bytes | None = None, edit: str = "the codemods"
) -> dict[str, PatchState]:
    rows = patch_rows(subject, wanted, digest(edit))
    return {row.id.removeprefix("pkg/"): row.state for row in rows}


def state(subject: Subject, wanted: Bytes | None = None) -> FileState:
    return file_row(subject, wanted).state


# --- the table -------------------------------------------------------------------


def test_a_file_that_is_gone_and_not_wanted_is_forgotten() -> None:
    subject = make_subject(None, entry="O")
    assert step(subject, BASE) == Forget(subject=subject)
    assert obstacle(subject, BASE) is None
    assert state(subject) is FileState.MISSING


def test_a_wanted_file_that_is_missing_is_refused_with_a_reinstall() -> None:
    decided = step(make_subject(None, A), None)
    assert kind_of(decided) == "missing"
    assert isinstance(decided, Refuse)
    assert (
        "pip install --force-reinstall --no-deps pkg-cpu==1.0" in decided.problem.hint
    )


def test_a_target_that_the_release_lacks_is_refused_with_near_names() -> None:
    """B13: creating it would be worse than failing."""
    distribution = make_distribution(
        None, others=["pkg/n.py", "pkg/elsewhere.py", "x/m.py"]
    )
    file = make_file(None, distribution=distribution)
    decided = step(replace(make_subject(None, A), file=file), None)
    assert isinstance(decided, Refuse)
    assert decided.problem.kind == "missing"
    assert decided.problem.patch == "pkg/a"
    assert decided.problem.message.endswith(
        "no such file in pkg-cpu 1.0; there is pkg/n.py"
    )
    alone = replace(file, distribution=make_distribution(None))
    nothing_near = step(replace(make_subject(None, A), file=alone), None)
    assert isinstance(nothing_near, Refuse)
    assert nothing_near.problem.message.endswith("no such file in pkg-cpu 1.0")


@pytest.mark.parametrize("found", ["R", "O", "X"])
def test_an_obstacle_of_file_or_distribution_refuses_everything(found: str) -> None:
    subject = make_subject(found, A, outputs={"O": [output(A)]})
    file = replace(subject.file, obstacle=TROUBLE)
    assert kind_of(step(replace(subject, file=file), W)) == "trouble"
    held = replace(make_distribution(), obstacle=TROUBLE)
    file = replace(subject.file, distribution=held)
    assert kind_of(step(replace(subject, file=file), W)) == "trouble"
    assert set(states(replace(subject, file=file), W).values()) == {PatchState.REFUSED}


@pytest.mark.parametrize("found", ["R", "W", "X"])
def test_without_a_recorded_digest_nothing_is_pristine(found: str) -> None:
    assert kind_of(step(make_subject(found, A, record=None), W)) == "no-record"


def test_wanted_bytes_are_kept_whoever_wrote_them() -> None:
    subject = make_subject("W", A)
    assert step(subject, W) == Keep(subject=subject, entry=digest("W"), patches=(A,))
    assert state(subject, W) is FileState.PATCHED
    assert states(subject, W) == {"a": PatchState.APPLIED}


def test_the_base_is_kept_where_nothing_is_wanted() -> None:
    subject = make_subject("R")
    assert step(subject, BASE) == Keep(subject=subject, entry=None)


def test_the_base_is_replaced_by_what_is_wanted() -> None:
    subject = make_subject("R", A)
    assert step(subject, W) == Write(
        subject=subject, digest=digest("W"), content=b"W", patches=(A,)
    )


def test_pristine_bytes_are_replaced_where_another_base_was_adopted() -> None:
    subject = make_subject("R", A, adopted="D", held=["D"])
    assert isinstance(step(subject, W), Write)


def test_pristine_bytes_are_let_be_where_no_patch_is_wanted() -> None:
    subject = make_subject("R", adopted="D", held=["D"])
    decided = step(subject, expected(subject, {}, EDIT))
    assert decided == Keep(subject=subject, entry=None)


def test_an_output_over_the_base_is_replaced() -> None:
    subject = make_subject("O", A, outputs={"O": [output(B)]}, held=["R"])
    assert isinstance(step(subject, W), Write)
    assert isinstance(step(subject, BASE), Write)


@pytest.mark.parametrize("base", ["old", None])
def test_an_output_over_another_base_is_an_upgrade_cut_short(base: str | None) -> None:
    subject = make_subject("O", A, outputs={"O": [output(A, base=base)]})
    assert kind_of(step(subject, W)) == "cut-short"
    assert state(subject) is FileState.DRIFTED
    assert states(subject) == {"a": PatchState.REFUSED}


def test_the_same_bytes_made_over_two_bases_are_ours_over_the_present_one() -> None:
    both = [output(A, base="old"), output(B)]
    subject = make_subject("O", A, outputs={"O": both}, held=["R"])
    assert subject.own_output == output(B)
    assert isinstance(step(subject, W), Write)


def test_a_base_that_is_nowhere_is_refused() -> None:
    subject = make_subject("O", outputs={"O": [output(A)]})
    assert kind_of(step(subject, BASE)) == "no-pristine"


@pytest.mark.parametrize("wished", [False, True])
@pytest.mark.parametrize("entry", [None, "O"])
def test_anything_else_has_drifted(entry: str | None, *, wished: bool) -> None:
    subject = make_subject("X", *[A][: int(wished)], entry=entry, held=["X"])
    decided = step(subject, W if wished else BASE)
    assert kind_of(decided) == "drifted"
    assert state(subject, W) is FileState.DRIFTED
    assert isinstance(decided, Refuse)
    assert "--adopt pkg/m.py" in decided.problem.hint
    assert "pip install" in decided.problem.hint


def test_a_drifted_file_whose_base_is_kept_can_be_forced() -> None:
    decided = step(make_subject("X", A, held=["R"]), W)
    assert isinstance(decided, Refuse)
    assert "patchset revert --force" in decided.problem.hint
    assert forced(decided) == Write(
        subject=decided.subject,
        digest=digest("R"),
        content=None,
        patches=(),
        forced=True,
    )


def test_force_cannot_put_back_what_is_not_kept() -> None:
    decided = step(make_subject("X", A), W)
    assert isinstance(decided, Refuse)
    assert forced(decided) is decided


def test_force_is_for_unrecognised_bytes_alone() -> None:
    refused = Refuse(subject=make_subject("R", A, held=["R"]), problem=TROUBLE)
    assert forced(refused) is refused


def test_a_file_that_nothing_claims_gets_its_base_back_or_is_let_be() -> None:
    made = {"O": [output(A)]}
    subject = make_subject("O", outputs=made, held=["R"], claimed=False)
    assert step(subject, None) == Write(
        subject=subject, digest=digest("R"), content=None, patches=()
    )
    for other in (
        make_subject("O", outputs=made, claimed=False),
        make_subject("X", outputs=made, held=["R"], claimed=False),
        make_subject(None, outputs=made, held=["R"], claimed=False),
    ):
        assert step(other, None) == Forget(subject=other)
    assert obstacle(subject, None) is None


def test_what_we_left_where_nothing_claims_it_is_told() -> None:
    """Two sites: the package has moved to the other, and `apply` cleans up here."""
    made = {"O": [output(A)]}
    subject = make_subject("O", outputs=made, held=["R"], claimed=False)
    (row,) = patch_rows(subject, None, EDIT)
    assert row.state is PatchState.ORPHANED
    assert row.reason == "applied in /site, where nothing provides it now"
    assert patch_rows(make_subject("O", outputs=made, claimed=False), None, EDIT) == ()


def test_a_refused_fold_has_no_step() -> None:
    with pytest.raises(AssertionError, match="refused patches have no step"):
        step(make_subject("R", A), None)


# --- what is wanted --------------------------------------------------------------


def test_without_patches_the_base_is_wanted() -> None:
    assert expected(make_subject("O"), {}, EDIT) == BASE
    assert expected(make_subject("O", A, obsolete=["pkg/a"]), {}, EDIT) == BASE
    adopted = make_subject("R", adopted="D")
    assert expected(adopted, {}, EDIT) == Bytes(digest=digest("D"))
    assert expected(make_subject("O", record=None), {}, EDIT) is None


def test_nothing_knows_what_was_never_made() -> None:
    assert expected(make_subject("R", A), {}, EDIT) is None


def golden(patched: str = "G", *, edit: str = "the codemods") -> Golden:
    key = (PATH, digest("R"), frozenset({"pkg/a"}))
    return {key: (recipe([A], digest(edit)), digest(patched))}


def test_a_golden_row_knows_it_if_the_code_is_the_same() -> None:
    subject = make_subject("R", A)
    known = Bytes(digest=digest("G"), patches=(A,))
    assert expected(subject, golden(), EDIT) == known
    assert expected(subject, golden(edit="older codemods"), EDIT) is None
    assert expected(make_subject("R", A, B), golden(), EDIT) is None
    assert expected(make_subject("R", A, record="R2"), golden(), EDIT) is None
    changed = make_subject("R", make_patch("a", code="changed"))
    assert expected(changed, golden(), EDIT) is None


def test_known_but_not_held_has_to_be_made() -> None:
    subject = make_subject("R", A)
    known = expected(subject, golden(), EDIT)
    assert needs_folding(subject, known)
    assert kind_of(step(subject, known)) == "no-pristine"
    lying = make_subject("G", A)
    assert not needs_folding(lying, known)
    assert isinstance(step(lying, known), Keep)


def test_what_the_store_holds_is_not_made_again() -> None:
    subject = make_subject("R", A, outputs={"O": [output(A)]})
    known = expected(subject, {}, EDIT)
    assert known == Bytes(digest=digest("O"), patches=(A,))
    assert not needs_folding(subject, known)
    assert isinstance(step(subject, known), Write)


@pytest.mark.parametrize(
    "made",
    [
        output(A, base="old"),
        output(A, edit=OTHER_EDIT),
        output(A, B),
        output(B),
        output(make_patch("a", code="changed")),
        output(make_patch("a", variant="other", code="code of a")),
    ],
)
def test_an_output_of_anything_else_is_not_it(made: Output) -> None:
    assert expected(make_subject("R", A, outputs={"O": [made]}), {}, EDIT) is None


def test_of_two_outputs_of_the_same_patches_the_one_on_disk_will_do() -> None:
    """Two releases of libcst may print differently: no reason to write, or to worry."""
    made = {"O1": [output(A)], "O2": [output(A)]}
    for found in ("O1", "O2"):
        subject = make_subject(found, A, outputs=made, held=["R"])
        known = expected(subject, golden(), EDIT)
        assert known == Bytes(digest=digest(found), patches=(A,))
        assert states(subject, known) == {"a": PatchState.APPLIED}
        assert isinstance(step(subject, known), Keep)


def test_nothing_is_folded_where_nothing_could_be_done() -> None:
    assert not needs_folding(make_subject("R"), BASE)
    assert not needs_folding(make_subject("R", A, obsolete=["pkg/a"]), BASE)
    assert not needs_folding(make_subject("O", A, claimed=False), None)
    assert not needs_folding(make_subject("X", A), None)
    assert needs_folding(make_subject("R", A), None)


def test_the_recipe_is_of_all_code_in_any_order() -> None:
    assert recipe([A, B], EDIT) == recipe([B, A], EDIT)
    assert recipe([A], EDIT) != recipe([A, B], EDIT)
    assert recipe([A], EDIT) != recipe([A], OTHER_EDIT)
    assert recipe([A], EDIT) != recipe([make_patch("a", variant="v")], EDIT)
    assert memory(A, EDIT) != memory(A, OTHER_EDIT)
    assert memory(A, EDIT).startswith("pkg/a sha256:")


def test_outputs_are_grouped_by_their_bytes() -> None:
    rows = [(digest("O"), output(A)), (digest("P"), output(B))]
    rows.append((digest("O"), output(B, base="old")))
    assert outputs_by_digest(rows) == {
        digest("O"): (output(A), output(B, base="old")),
        digest("P"): (output(B),),
    }


# --- the states that users see ---------------------------------------------------


def test_pristine_and_pending() -> None:
    subject = make_subject("R", A)
    assert state(subject) is FileState.PRISTINE
    assert states(subject) == {"a": PatchState.PENDING}
    assert file_row(subject, None).patches == ("pkg/a",)
    assert file_row(subject, W).wanted == digest("W")


def test_a_reinstalled_file_is_pending_and_says_why() -> None:
    """F3."""
    (row,) = patch_rows(make_subject("R", A, entry="O"), None, EDIT)
    assert (row.state, row.reason) == (PatchState.PENDING, "the file was reinstalled")


def test_an_interrupted_run_is_told_and_never_as_wanted() -> None:
    subject = make_subject("R", A, interrupted=True)
    assert state(subject) is FileState.INTERRUPTED
    (row,) = patch_rows(subject, None, EDIT)
    assert (row.state, row.reason) == (PatchState.PENDING, "a run was interrupted")


def test_a_changed_patch_is_outdated() -> None:
    """F1."""
    old = make_patch("a", code="revision 1")
    subject = make_subject("O", A, outputs={"O": [output(old)]}, held=["R"])
    (row,) = patch_rows(subject, None, EDIT)
    assert row.state is PatchState.OUTDATED
    assert row.reason == "the patch has changed since it was applied"
    assert state(subject) is FileState.PATCHED


def test_changed_codemods_make_it_outdated_unless_the_bytes_are_known() -> None:
    made = {"G": [output(A, edit=OTHER_EDIT)]}
    subject = make_subject("G", A, outputs=made, held=["R"])
    (row,) = patch_rows(subject, None, EDIT)
    assert row.reason == "the codemods have changed since it was applied"
    known = expected(subject, golden(), EDIT)
    assert states(subject, known) == {"a": PatchState.APPLIED}


def test_a_set_that_shrank_and_grew_while_the_codemods_changed() -> None:
    c = make_patch("c")
    made = {"O": [output(A, B, edit=OTHER_EDIT)]}
    subject = make_subject("O", B, c, outputs=made, held=["R"])
    assert states(subject) == {
        "a": PatchState.ORPHANED,
        "b": PatchState.OUTDATED,
        "c": PatchState.PENDING,
    }
    made = {"O": [output(A, B)]}
    subject = make_subject("O", B, c, outputs=made, held=["R"])
    assert states(subject)["b"] is PatchState.APPLIED


def test_an_undeclared_patch_is_orphaned() -> None:
    """F2."""
    subject = make_subject("O", outputs={"O": [output(A)]}, held=["R"])
    (row,) = patch_rows(subject, BASE, EDIT)
    assert (row.state, row.patch) == (PatchState.ORPHANED, None)
    assert file_row(subject, BASE).patches == ("pkg/a",)


def test_an_obsolete_patch_is_said_to_be_so_on_its_base_and_on_ours() -> None:
    on_base = make_subject("R", A, obsolete=["pkg/a"])
    assert states(on_base, BASE) == {"a": PatchState.OBSOLETE}
    made = {"O": [output(B)]}
    on_ours = make_subject("O", A, B, outputs=made, obsolete=["pkg/a"], held=["R"])
    known = expected(on_ours, {}, EDIT)
    assert states(on_ours, known) == {"a": PatchState.OBSOLETE, "b": PatchState.APPLIED}


def test_a_cure_in_adopted_bytes_is_gone_once_they_are() -> None:
    """Reinstalled over a base that the user had adopted: the cure is not there."""
    subject = make_subject("R", A, adopted="D", obsolete=["pkg/a"], held=["D"])
    known = expected(subject, {}, EDIT)
    assert isinstance(step(subject, known), Write)
    (row,) = patch_rows(subject, known, EDIT)
    assert (row.state, row.reason) == (PatchState.PENDING, "the file was reinstalled")


def test_an_applied_patch_that_turned_out_obsolete_is_outdated() -> None:
    made = {"O": [output(A)]}
    subject = make_subject("O", A, outputs=made, obsolete=["pkg/a"], held=["R"])
    (row,) = patch_rows(subject, BASE, EDIT)
    assert row.state is PatchState.OUTDATED
    assert row.reason == "the cure is in the base itself"
    assert isinstance(step(subject, BASE), Write)


def test_adopted_bytes_are_the_base() -> None:
    subject = make_subject("D", A, adopted="D", held=["D"])
    assert subject.base == digest("D")
    assert state(subject) is FileState.PRISTINE
    assert isinstance(step(subject, W), Write)


def test_an_output_whose_bytes_are_the_base_is_no_harm() -> None:
    subject = make_subject("R", A, outputs={"R": [output(A)]})
    known = expected(subject, {}, EDIT)
    assert isinstance(step(subject, known), Keep)
    assert states(subject, known) == {"a": PatchState.APPLIED}
    bare = make_subject("R", outputs={"R": [output(A)]})
    assert isinstance(step(bare, expected(bare, {}, EDIT)), Keep)
