"""A page taken apart again: its elements, its policy, and the data it holds."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any


@dataclass
class Element:
    """One element: its tag, its attributes, and the text right inside of it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """Every element of a page in order, as a browser would read them."""

    elements: list[Element] = field(default_factory=list)
    open_: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in ("meta", "input", "br", "rect"):
            self.open_.append(element)

    def handle_endtag(self, tag: str) -> None:
        while self.open_ and self.open_.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.open_:
            self.open_[-1].text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Elements of a tag with these attributes."""
        wanted = {name.strip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [e for e in self.elements if e.tag == tag and wanted.items() <= e.attributes.items()]

    def rows(self) -> list[dict[str, str]]:
        """What the rows of the table of programs say of themselves."""
        return [e.attributes for e in self.elements if e.tag == "tr" and "data-name" in e.attributes]

    def stages(self) -> list[dict[str, str]]:
        """What the links to single stages say of them."""
        return [e.attributes for e in self.elements if e.tag == "a" and "data-program" in e.attributes]

    def bodies(self) -> list[dict[str, Any]]:
        """What is shown of single programs."""
        found = [e for e in self.all("script") if e.attributes.get("type", "").startswith("application/")]
        return [json.loads(unpacked(e)) for e in found]

    def policy(self) -> str:
        """What the page may load."""
        (found,) = self.all("meta", http_equiv="Content-Security-Policy")
        return found.attributes["content"]


def unpacked(element: Element) -> str:
    """JSON that is held by an element, as a browser takes it out."""
    if element.attributes["type"] == "application/json":
        return element.text
    return zlib.decompress(base64.b64decode(element.text)).decode()


def parsed(text: str) -> Page:
    """Read a page."""
    page = Page()
    page.feed(text)
    page.close()
    return page


def long_program(layers: int, at: int = -1, opcode: str = "tanh", more: int = 0) -> str:
    """HLO text of five instructions a layer; layer `at` has another opcode, `more` other pairs come last."""
    body = [
        "HloModule m, entry_computation_layout={(f32[64,64]{1,0})->f32[64,64]{1,0}}\n",
        "%fused (p: f32[64,64]) -> f32[64,64] {",
        "  %p = f32[64,64]{1,0} parameter(0)",
        "  %e = f32[64,64]{1,0} exponential(%p)",
        "  ROOT %m = f32[64,64]{1,0} multiply(%e, %p)",
        "}\n",
        "ENTRY %main (x: f32[64,64]) -> f32[64,64] {",
        "  %x = f32[64,64]{1,0} parameter(0)",
    ]
    last = "%x"
    for n in range(layers):
        body += [
            f"  %c.{n} = f32[] constant({n}.5)",
            f"  %b.{n} = f32[64,64]{{1,0}} broadcast(%c.{n}), dimensions={{}}",
            f"  %d.{n} = f32[64,64]{{1,0}} add({last}, %b.{n})",
            f"  %t.{n} = f32[64,64]{{1,0}} {opcode if n == at else 'tanh'}(%d.{n})",
            f"  %f.{n} = f32[64,64]{{1,0}} fusion(%t.{n}), kind=kLoop, calls=%fused",
        ]
        last = f"%f.{n}"
    for n in range(more):
        body += [f"  %s.{n} = f32[64,64]{{1,0}} cosine({last})"]
        body += [f"  %g.{n} = f32[64,64]{{1,0}} fusion(%s.{n}), kind=kLoop, calls=%fused"]
        last = f"%g.{n}"
    return "\n".join([*body, f"  ROOT %r = f32[64,64]{{1,0}} negate({last})", "}"]) + "\n"
