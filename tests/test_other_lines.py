"""Pairs that the shortest script keeps, between operations of two lines of Python: reports say what each line lost."""

import pytest

import hlodiff
from hlodiff.differ import ModuleDiff

_TABLES = """FileNames
1 "/srv/model.py"

FunctionNames
1 "norm"

FileLocations
{locations}

StackFrames
1 {{file_location_id=1 parent_frame_id=0}}
2 {{file_location_id=2 parent_frame_id=0}}

"""
_LOCATION = "{n} {{file_name_id=1 function_name_id=1 line={line} end_line={line} column=4 end_column=20}}"


def _program(arguments: str, body: str, lines: tuple[int, int] = (17, 18)) -> hlodiff.Module:
    """An entry in which `@1` and `@2` mark what comes from the first and the second line."""
    text = "\n".join("  " + line for line in f"{arguments}\n{body}".strip().splitlines())
    for n, scope in ((1, "cast"), (2, "norm")):
        text = text.replace(f"@{n}", f', metadata={{op_name="jit(f)/{scope}" stack_frame_id={n}}}')
    locations = "\n".join(_LOCATION.format(n=n, line=line) for n, line in enumerate(lines, 1))
    return hlodiff.read_text(f"HloModule m\n\n{_TABLES.format(locations=locations)}ENTRY %e {{\n{text}\n}}\n")


_TAIL = """%s = f32[8] sine({})@2
%t = f32[8] tanh(%s)@2
ROOT %r = f32[8] negate(%t)@2"""
_CAST_FIRST = "%c = f32[8] convert(%x)@1\n%m = f32[8] multiply(%c, %c)@2\n" + _TAIL.format("%m")
_CAST_LATER = "%m = bf16[8] multiply(%x, %x)@2\n%c = f32[8] convert(%m)@2\n" + _TAIL.format("%c")
_NARROW = "%x = bf16[8] parameter(0)"


def _shown(found: ModuleDiff) -> set[tuple[str, str, int, tuple[str, ...]]]:
    """Kind, opcode, line and fields of all reported edits that have a line."""
    return {
        (edit.kind, site.opcode, edit.source[0].line, edit.fields)
        for edit in found.reported
        for site in (edit.new or edit.old,)
        if site and edit.source
    }


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_cast_of_one_line_is_not_that_of_the_next(is_reversed: bool) -> None:
    sides = _program(_NARROW, _CAST_FIRST), _program(_NARROW, _CAST_LATER)
    found = hlodiff.diff(*(sides[::-1] if is_reversed else sides))
    gone, came = ("added", "removed") if is_reversed else ("removed", "added")
    assert _shown(found) == {
        (gone, "convert", 17, ()),
        (came, "convert", 18, ()),
        (gone, "multiply", 18, ()),
        (came, "multiply", 18, ()),
    }
    # The script stays the shortest one: it keeps the cast.
    assert found.summary == {"added": 1, "removed": 1, "changed": 0, "moved": 0}
    assert found.replay().complete
    assert set(found.reported_from) <= set(range(len(found.edits)))


def test_lines_that_moved_say_nothing() -> None:
    """All of the second line is at the place of the first now, as after a line above was deleted."""
    found = hlodiff.diff(_program(_NARROW, _CAST_LATER), _program(_NARROW, _CAST_FIRST.replace("@1", "@2"), (16, 17)))
    assert _shown(found) == {("removed", "multiply", 18, ()), ("added", "multiply", 17, ())}


def test_an_operation_that_shares_a_neighbour_is_what_it_was_whatever_its_line() -> None:
    two = _CAST_FIRST.replace("%m = f32[8] multiply(%c, %c)@2", "%n = f32[8] abs(%c)@2\n%m = f32[8] multiply(%n, %c)@2")
    one = _CAST_FIRST.replace("convert(%x)@1", "convert(%x)@2")
    assert {kind[:2] for kind in _shown(hlodiff.diff(_program(_NARROW, two), _program(_NARROW, one)))} == {
        ("removed", "abs")
    }


def test_products_of_two_lines_and_sizes_are_two_products() -> None:
    """They share an operand and a user: two products of one backward pass mostly do."""
    body = """%b = f32[4,8] broadcast(%x), dimensions={1}
    %s = f32[4,8] sine(%b)LINE
    %k = f32[4,8] cosine(%s)LINE
    %d = PRODUCT
    %n = f32[SIZE] negate(%d)
    ROOT %r = f32[1,SIZE] reshape(%n)"""
    small = body.replace("PRODUCT", "f32[SIZE] dot(%b, %k), lhs_contracting_dims={1}, rhs_contracting_dims={1}@1")
    large = body.replace("PRODUCT", "f32[SIZE] dot(%b, %k), lhs_contracting_dims={0}, rhs_contracting_dims={0}@2")
    extra = "%u = f32[4,8] tanh(%b)@1\n    %v = f32[4,8] tanh(%b)@2\n    %t = f32[4,8] add(%u, %v)\n    %d ="
    old = small.replace("SIZE", "4,4").replace("LINE", "@1").replace("%d =", extra)
    large = large.replace("reshape(%n)", "reshape(%q)").replace("    ROOT", "    %q = f32[SIZE] abs(%n)\n    ROOT")
    new = large.replace("SIZE", "8,8").replace("LINE", "@1").replace("%d =", extra)
    found = hlodiff.diff(*(_program("%x = f32[8] parameter(0)", side) for side in (old, new)))
    assert {one for one in _shown(found) if one[1] == "dot"} == {("removed", "dot", 17, ()), ("added", "dot", 18, ())}
    assert any(edit.kind == "changed" and "shape" in edit.fields for edit in found.edits)


def test_collectives_of_two_lines_and_sizes_are_two_collectives() -> None:
    """The first line no longer gathers, and the second one gathers more: they share an operand and a user."""
    gather = "all-gather(%s), dimensions={0}, replica_groups={{0,1}}"
    body = """%s = f32[4] slice(%x), slice={{[0:4]}}
    %a = f32[8] tanh(%x)@1
    %b = f32[8] abs(%a)@1
    {more}%g = f32[{size}] {gather}@{line}
    %c = f32[8] sine(%b)@2
    %d = f32[8] cosine(%c)@2
    ROOT %t = (f32[{size}], f32[8], f32[8]) tuple(%g, %d, %{last})"""
    sides = [
        _program(
            "%x = f32[8] parameter(0)",
            body.format(size=size, line=line, gather=gather, more=more, last="u" if more else "d"),
        )
        for size, line, more in ((8, 1, ""), (16, 2, "%u = f32[8] log(%b)@2\n    "))
    ]
    found = {one[:3] for one in _shown(hlodiff.diff(*sides)) if one[1] == "all-gather"}
    assert found == {("removed", "all-gather", 17), ("added", "all-gather", 18)}


@pytest.mark.parametrize("is_reversed", [False, True])
def test_an_array_that_grew_is_not_a_part_of_it_that_has_its_old_size(is_reversed: bool) -> None:
    """A product of chunks of 4 numbers, and one of chunks of 8 with the first level of a tree after it."""
    old = """%b = f32[4,8] broadcast(%x), dimensions={1}
    %w = f32[4,8] multiply(%b, %b)@1
    %s = f32[2,8] slice(%w), slice={[0:2], [0:8]}@2
    %p = f32[2,8] multiply(%s, %s)@2
    ROOT %r = f32[2,8] tanh(%p)@2"""
    new = """%b = f32[8,8] broadcast(%x), dimensions={1}
    %w = f32[8,8] multiply(%b, %b)@1
    %h = f32[4,8] slice(%w), slice={[0:4], [0:8]}@2
    %q = f32[4,8] multiply(%h, %h)@2
    %a = f32[4,8] add(%q, %h)@2
    %s = f32[2,8] slice(%a), slice={[0:2], [0:8]}@2
    %p = f32[2,8] multiply(%s, %s)@2
    ROOT %r = f32[2,8] tanh(%p)@2"""
    sides = _program("%x = f32[8] parameter(0)", old), _program("%x = f32[8] parameter(0)", new)
    found = hlodiff.diff(*(sides[::-1] if is_reversed else sides))
    came = "removed" if is_reversed else "added"
    assert {edit[0:4:2] for edit in _shown(found) if edit[1] == "multiply"} == {("changed", 17), (came, 18)}


@pytest.mark.parametrize("lines", [("@1", "@2"), ("@1", "@1")])
def test_an_operation_of_another_line_in_another_size_is_another_one(lines: tuple[str, str]) -> None:
    """Nothing that it takes or that takes it is as it was; at its own line it grew."""
    kept = """%z = f32[] constant(0)
    %a = f32[8] abs(%x)@1
    %b = f32[8] ceil(%a)@1
    %e = f32[8] negate(%b)@1
    %f = f32[8] sqrt(%e)@1
    %c = f32[8] floor(%x)@2
    %d = f32[8] rsqrt(%c)@2
    %g = f32[8] negate(%d)@2
    %h = f32[8] cbrt(%g)@2
    """
    old = """%s = f32[8] sine(%x)@
    %p = f32[12] pad(%s, %z), padding=0_4@
    %l = f32[12] log(%p)@
    ROOT %r = (f32[8], f32[8], f32[12]) tuple(%f, %h, %l)"""
    new = """%s = f32[8] cosine(%x)@
    %i = f32[8] tan(%s)@
    %p = f32[16] pad(%i, %z), padding=0_8@
    %j = f32[16] tanh(%p)@
    %l = f32[16] exponential(%j)@
    ROOT %r = (f32[8], f32[8], f32[16]) tuple(%f, %h, %l)"""
    sides = (
        _program("%x = f32[8] parameter(0)", kept + text.replace("@", at))
        for text, at in zip((old, new), lines, strict=True)
    )
    found = hlodiff.diff(*sides)
    assert {(edit.kind, edit.is_weak) for edit in found.edits if edit.old and edit.old.opcode == "pad"} == {
        ("changed", lines[0] != lines[1])
    }


def test_of_two_equal_operations_in_a_row_the_one_of_another_function_came() -> None:
    """A gradient is summed where it is computed now, and summed again where it was before."""
    both = _TABLES.replace('1 "norm"', '1 "experts"\n2 "reduce"').format(
        locations="\n".join(
            _LOCATION.format(n=n, line=line).replace("function_name_id=1", f"function_name_id={n}")
            for n, line in ((1, 4), (2, 9))
        )
    )

    def program(first: bool) -> hlodiff.Module:
        came = "  %a = f32[8] tanh(%x), metadata={stack_frame_id=1}\n" if first else ""
        return hlodiff.read_text(
            f"HloModule m\n\n{both}ENTRY %e {{\n  %x = f32[8] parameter(0)\n{came}"
            f"  %b = f32[8] tanh(%{'a' if first else 'x'}), metadata={{stack_frame_id=2}}\n"
            "  ROOT %r = f32[8] negate(%b)\n}\n"
        )

    old, new = program(False), program(True)
    assert _shown(hlodiff.diff(old, new)) == {("added", "tanh", 4, ())}
    assert _shown(hlodiff.diff(new, old)) == {("removed", "tanh", 4, ())}


@pytest.mark.parametrize(("number", "is_another"), [("0.796875", False), ("-0.0008", True)])
def test_a_coefficient_of_another_polynomial_did_not_change_its_type(number: str, is_another: bool) -> None:
    """A number that is rounded is still the same one, and what is repeated is that one in another type."""
    old, new = (
        _program(
            "%x = f32[8] parameter(0)",
            f"%c = {shape}[] constant({literal})\n%b = {shape}[8] broadcast(%c), dimensions={{}}\n{use}\n"
            "ROOT %r = f32[8] multiply(%x, %v)",
        )
        for shape, literal, use in (
            ("bf16", "0.7969", "%v = f32[8] convert(%b)"),
            ("f32", number, "%v = f32[8] copy(%b)"),
        )
    )
    found = hlodiff.diff(old, new)
    weak = {edit.is_weak for edit in found.edits if edit.old and edit.old.opcode == "broadcast" and edit.new}
    assert weak == {is_another}
