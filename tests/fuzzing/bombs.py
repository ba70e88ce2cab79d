"""Bombs: small texts, made by hand, of which a careless reader makes much. Each was one, or is of the family of one."""

from __future__ import annotations

import gzip

HEAD = "HloModule m\n\n"
_WIDE = 3000


def _entry(*lines: str) -> str:
    return f"{HEAD}ENTRY e {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _calls(body: str, count: int) -> str:
    """Computations that call each other in a row; `{}` in the body is the number of the one before."""
    first = "c0 {\n  ROOT p = s32[] parameter(0)\n}\n\n"
    rest = "".join(f"c{n} {{\n  p = s32[] parameter(0)\n{body.format(n - 1)}}}\n\n" for n in range(1, count))
    last = f"ENTRY e {{\n  p = s32[] parameter(0)\n  ROOT r = s32[] call(p), to_apply=c{count - 1}\n}}\n"
    return HEAD + first + rest + last


def _nested(depth: int) -> str:
    return "(" * depth + "f32[]" + ")" * depth


_PARAMETERS = [f"p{n} = f32[] parameter({n})" for n in range(_WIDE)]
_LIST = ", ".join(f"p{n}" for n in range(_WIDE))
_TYPES = f"({', '.join(['f32[]'] * _WIDE)})"
_CONDITION = (
    "cond {\n  p = s32[] parameter(0)\n  k = s32[] constant(9)\n  ROOT r = pred[] compare(p, k), direction=LT\n}\n\n"
)
_FRAMES = (
    'FileNames\n1 "a.py"\n\nFunctionNames\n1 "f"\n\nFileLocations\n'
    "1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=2}\n\nStackFrames\n"
)

COMPILED: dict[str, str] = {
    # A number looked for again at each letter of a long word.
    "a word without end in a table": f"HloModule m\n\n{_FRAMES}1 {{{'a' * 300_000}}}\n\n"
    + _entry("ROOT p = f32[] parameter(0)").removeprefix(HEAD),
    # A string looked for again at each quote.
    "quotes without end in the name of an argument": _entry(
        'p = f32[] parameter(0), metadata={op_name="x[' + "\\\\\\\"\\\\'" * 50_000 + ']"}',
        'ROOT q = f32[] parameter(1), metadata={op_name="y[' + "\\\\\\\"\\\\'" * 50_000 + ']"}',
    ),
    # The sizes of a window and the axes of a convolution looked for in the same way.
    "a window and axes without end": _entry(
        "p = f32[1,4,4,1] parameter(0)",
        "k = f32[3,3,1,1] parameter(1)",
        f"ROOT c = f32[1,4,4,1] convolution(p, k), window={{size=3x3 {'a' * 200_000}}}, "
        f"dim_labels=b01f_01io->b01f, note={'[' * 10}{']' * 10}",
    ),
    # A sort by content that works out a wide shape once for each of its elements.
    "elements of a wide tuple without users": _entry(
        f"p = {_TYPES} parameter(0)",
        *(f"g{n} = f32[] get-tuple-element(p), index={n}" for n in range(_WIDE)),
        "ROOT r = f32[] add(g0, g1)",
    ),
    "elements of what is made of 3,000 operands": _entry(
        *_PARAMETERS,
        f"t = {_TYPES} tuple({_LIST})",
        *(f"g{n} = f32[] get-tuple-element(t), index={n}" for n in range(_WIDE)),
        "ROOT r = f32[] add(p0, p1)",
    ),
    # A walk along all callers, once for each edit.
    "calls 1,500 deep": _calls("  ROOT r = s32[] call(p), to_apply=c{}\n", 1500),
    "loops 1,000 deep that turn nobody knows how often": _calls(
        "  ROOT r = s32[] while(p), condition=cond, body=c{}\n", 1000
    ).replace("c0 {", f"{_CONDITION}c0 {{", 1),
    # A stack of frames as long as the table, once for each instruction.
    "frames 20,000 deep": HEAD
    + _FRAMES
    + "".join(f"{n} {{file_location_id={1 + n % 2} parent_frame_id={n - 1}}}\n" for n in range(1, 20_000))
    + "\nENTRY e {\n"
    + "".join(
        f'  p{n} = f32[] parameter({n}), metadata={{op_name="x" stack_frame_id={19_999 - n}}}\n' for n in range(1000)
    )
    + "  ROOT r = f32[] negate(p0)\n}\n",
    "frames in a ring": HEAD
    + _FRAMES
    + "1 {file_location_id=1 parent_frame_id=2}\n2 {file_location_id=1 parent_frame_id=1}\n"
    + '\nENTRY e {\n  ROOT p = f32[] parameter(0), metadata={op_name="x" stack_frame_id=1}\n}\n',
    "20,000 dynamic dimensions": _entry(f"ROOT p = f32[{','.join(['<=9'] * 20_000)}] parameter(0)"),
    "a scope of 2 MB": _entry(f'ROOT p = f32[] parameter(0), metadata={{op_name="{"a/" * 1_000_000}"}}'),
    "a ring of 3,000 instructions": _entry(
        *(f"a{n} = f32[] negate(a{(n + 1) % 3_000})" for n in range(3_000)), "ROOT r = f32[] add(a1, a2)"
    ),
    "every instruction waits for all before it": _entry(
        "p = f32[] parameter(0)",
        *(
            f"a{n} = f32[] negate(p), control-predecessors={{{', '.join(f'a{m}' for m in range(n))}}}"
            for n in range(300)
        ),
        "ROOT r = f32[] add(a1, a2)",
    ),
    "groups of a million million devices": _entry(
        "p = f32[8] parameter(0)",
        "ROOT r = f32[8] all-gather(p), dimensions={0}, replica_groups=[1,1000000000000]<=[1000000000000]",
    ),
    "a mesh of sixty axes": _entry(
        f"ROOT p = f32[8] parameter(0), sharding={{devices=[{','.join(['2'] * 60)}]<=[{','.join(['2'] * 60)}]}}"
    ),
    "parameters far apart": _entry(
        *(f"x{n} = f32[] parameter({n * 10**6})" for n in range(1000)), "ROOT r = f32[] add(x1, x2)"
    ),
    "a constant of a million numbers": _entry(f"ROOT c = f32[1000000] constant({{{', '.join(['1'] * 1_000_000)}}})"),
    "20,000 branches": f"{HEAD}c {{\n  ROOT p = f32[] parameter(0)\n}}\n\n"
    + "ENTRY e {\n  i = s32[] parameter(0)\n  p = f32[] parameter(1)\n"
    + f"  ROOT r = f32[] conditional(i, {', '.join(['p'] * 20_000)}), branch_computations="
    + f"{{{', '.join(['c'] * 20_000)}}}\n}}\n",
    # Shapes that are left out.
    "tuples that double": "ENTRY e { t0 = f32[] parameter(0) "
    + " ".join(f"t{n + 1} = tuple(t{n}, t{n})" for n in range(60))
    + " ROOT r = negate(t0) }",
    "tuples that nest": "ENTRY e { t0 = f32[] parameter(0) "
    + " ".join(f"t{n + 1} = tuple(t{n})" for n in range(3000))
    + " ROOT r = negate(t0) }",
    "copies of a wide tuple": f"ENTRY e {{ g0 = {_TYPES} parameter(0) "
    + " ".join(f"g{n + 1} = copy(g{n})" for n in range(_WIDE))
    + " ROOT r = get-tuple-element(g1), index=0 }",
    "a tuple in 5,000 brackets": f"HloModule m, entry_computation_layout={{({_nested(5000)})->f32[]}}\n\nENTRY e {{\n"
    + "  ROOT p = f32[] parameter(0)\n}\n",
}

STABLEHLO: dict[str, str] = {
    "attributes that double": "\n".join(["#a0 = [1, 2]", *(f"#a{n} = [#a{n - 1}, #a{n - 1}]" for n in range(1, 40))])
    + "\nfunc.func @main(%x: tensor<f32>) -> tensor<f32> attributes {x = #a39} { return %x : tensor<f32> }",
    "20,000 meshes": "module @m {\n" + "".join(f'sdy.mesh @m{n} = <["x"=2]>\n' for n in range(20_000)) + "}",
    "30,000 dimensions": f"func.func private @main(tensor<{'1x' * 30_000}f32>)",
    "a function that calls itself": "func.func @main(%x: tensor<f32>) -> tensor<f32> "
    "{ %a = call @main(%x) : (tensor<f32>) -> tensor<f32>\n return %a : tensor<f32> }",
}

STABLEHLO |= {
    "a number of 50,000 digits": f"func.func private @main() attributes {{a = {'9' * 50_000} : i64}}",
    "20,000 attributes": f"func.func private @main() attributes {{{', '.join(f'a{n}' for n in range(20_000))}}}",
    "an operation of 20,000 attributes": "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
    + f'  %0 = "x.y"(%x) {{{", ".join(f"a{n}" for n in range(20_000))}}} : (tensor<f32>) -> tensor<f32>\n'
    + "  return %x : tensor<f32>\n}",
    "call sites 20,000 deep": "\n".join(
        ['#l0 = loc("a")', *(f"#l{n} = loc(callsite(#l0 at #l{n - 1}))" for n in range(1, 20_000))]
    )
    + "\nfunc.func private @main() loc(#l19999)",
    "locations that double": "\n".join(
        ['#l0 = loc("a")', *(f"#l{n} = loc(fused[#l{n - 1}, #l{n - 1}])" for n in range(1, 60))]
    )
    + "\nfunc.func private @main() loc(#l59)",
    "functions that call each other twice": "\n".join(
        f"func.func @f{n}(%x: tensor<f32>) -> tensor<f32> {{\n"
        + (f"  %a = call @f{n - 1}(%x) : (tensor<f32>) -> tensor<f32>\n" * 1 if n else "")
        + (f"  %b = call @f{n - 1}(%a) : (tensor<f32>) -> tensor<f32>\n  return %b" if n else "  return %x")
        + " : tensor<f32>\n}"
        for n in range(60)
    ),
}

# The same shapes as programs have, but much more of them; each is read in linear time.
COMPILED |= {
    "a chain that is defined backwards": _entry(
        *(f"a{n} = f32[] negate(a{n + 1})" for n in range(5000)),
        "a5000 = f32[] parameter(0)",
        "ROOT r = f32[] add(a1, a2)",
    ),
    "4,000 equal instructions": _entry(
        "p = f32[] parameter(0)", *(f"a{n} = f32[] add(p, p)" for n in range(4000)), "ROOT r = f32[] add(a1, a2)"
    ),
    "layers of tuples, each of all of the last": _entry(
        "p = f32[] parameter(0)",
        *(
            f"l{layer}_{n} = ({', '.join(['f32[]'] * 30)}) tuple("
            + ", ".join(f"l{layer - 1}_{m}" if layer else "p" for m in range(30))
            + ")"
            for layer in range(20)
            for n in range(30)
        ),
        "ROOT r = f32[] negate(p)",
    ),
    "equal computations, each called once": HEAD
    + "".join(f"c{n} {{\n  p = s32[] parameter(0)\n  ROOT r = s32[] negate(p)\n}}\n\n" for n in range(1500))
    + "ENTRY e {\n  p = s32[] parameter(0)\n"
    + "".join(f"  a{n} = s32[] call(p), to_apply=c{n}\n" for n in range(1500))
    + "  ROOT r = s32[] negate(p)\n}\n",
    "a ring of 2,000 computations": HEAD
    + "".join(
        f"c{n} {{\n  p = s32[] parameter(0)\n  ROOT r = s32[] call(p), to_apply=c{(n + 1) % 2000}\n}}\n\n"
        for n in range(2000)
    )
    + "ENTRY e {\n  p = s32[] parameter(0)\n  ROOT r = s32[] call(p), to_apply=c0\n}\n",
    "fusions 2,000 deep": _calls("  ROOT r = s32[] fusion(p), kind=kLoop, calls=c{}\n", 2000),
    "one channel 1,500 times": _entry(
        "p = f32[8] parameter(0)",
        *(f"a{n} = f32[8] collective-permute(p), channel_id=1, source_target_pairs={{{{0,1}}}}" for n in range(1500)),
        "ROOT r = f32[8] negate(a0)",
    ),
    "20,000 groups of one device": f"{HEAD}x {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    + "  ROOT c = f32[] add(a, b)\n}\n\nENTRY e {\n  p = f32[8] parameter(0)\n"
    + "  ROOT r = f32[8] all-reduce(p), replica_groups={"
    + ",".join(f"{{{n}}}" for n in range(20_000))
    + "}, to_apply=x\n}\n",
    "20,000 attributes of one instruction": _entry(
        "p = f32[] parameter(0)",
        'ROOT r = f32[] custom-call(p), custom_call_target="x", ' + ", ".join(f"a{n}={n}" for n in range(20_000)),
    ),
    "names of a million letters": _entry(f"{'x' * 10**6} = f32[] parameter(0)", f"ROOT r = f32[] tanh({'x' * 10**6})"),
    "a literal in 100,000 brackets": _entry(f"ROOT c = f32[1] constant({'{' * 100_000}1{'}' * 100_000})"),
    "digits of another alphabet": _entry("ROOT p = f32[\u0663,\u0664] parameter(\u0660)"),
}

_TOML = "[tool.hlodiff]\n"
CONFIGURATIONS: dict[str, str] = {
    "a key of a million letters": f"{_TOML}{'k' * 1_000_000}=1",
    "a number that no float holds": f"{_TOML}timeout = 0x{'f' * 3000}",
    "tables in tables": f"{_TOML}env = {'{a=' * 5000}",
    "a pattern of many stars": f"[[tool.hlodiff.budgets]]\nfunctions = ['{'*a' * 2000}']\nmetric = 'flops'\nmax = 1\n",
}

PACKED: dict[str, bytes] = {
    "100 MB of blank lines": gzip.compress(b"\n" * 100_000_000, 1),
    "many members": gzip.compress(b"a") * 100_000,
}
