"""The HTTP client for code hosts. Responses are bounded, and the token is sent to no other host."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from hlodiff.errors import CodeHostError

_LARGEST_ANSWER = 16 * 1024**2  # bytes; a page of 100 comments of full length has 7 MiB
_PATIENCE = 60  # seconds
_PAGES = 50
_PER_PAGE = 100


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: urllib would send the token along to the other host."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class HttpClient:
    """The API of a code host.

    Args:
        base: its address, such as `https://api.example/v3`.
        headers: headers of each request, including the token.
        refused: hint for a response of 401, 403 or 404.
    """

    base: str
    headers: Mapping[str, str] = field(repr=False)
    refused: str = ""

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str | int] | None = None,
    ) -> Any:
        """Send a request and read the JSON response.

        Args:
            method: HTTP method.
            path: path below the base, quoted.
            body: value to send as JSON.
            query: parameters after the `?`.

        Returns:
            the response.

        Raises:
            CodeHostError: there is no response, or it is not JSON or too large.
        """
        address = f"{self.base}{path}" + (f"?{urlencode(query)}" if query else "")
        content = self._read(self._open(method, address, dict(self.headers), body), _LARGEST_ANSWER, path)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise CodeHostError("did not answer with JSON", where=f"{method} {path}", hint=self.refused) from None

    def pages(self, path: str, query: Mapping[str, str | int] | None = None) -> list[Any]:
        """A list returned in pages of 100; at most 5,000 entries.

        Raises:
            CodeHostError: as for `request`, or the response is not a list.
        """
        found: list[Any] = []
        for page in range(1, _PAGES + 1):
            answer = self.request("GET", path, None, {**(query or {}), "per_page": _PER_PAGE, "page": page})
            if not isinstance(answer, list):
                raise CodeHostError("did not answer with a list", where=f"GET {path}")
            found += answer
            if len(answer) < _PER_PAGE:
                break
        return found

    def download(self, path: str, limit: int) -> bytes:
        """Download a file that may be on another host, which never gets the token.

        Args:
            path: path below the base.
            limit: maximum number of bytes to read.

        Raises:
            CodeHostError: the file is missing or larger, or its address cannot be trusted.
        """
        address = f"{self.base}{path}"
        response = self._open("GET", address, dict(self.headers), None, moved=True)
        if isinstance(response, str):
            target = urlsplit(urljoin(address, response))
            if target.scheme not in ("https", urlsplit(self.base).scheme) or not target.hostname:
                raise CodeHostError("is moved to an address that is not https", where=f"GET {path}")
            response = self._open("GET", target.geturl(), {}, None)
        return self._read(response, limit, path)

    def _open(
        self, method: str, address: str, headers: dict[str, str], body: Mapping[str, Any] | None, moved: bool = False
    ) -> Any:
        """The response; or, if it `moved` and that is allowed, the new address."""
        data = json.dumps(body).encode() if body is not None else None
        headers |= {"User-Agent": "hlodiff"} | ({"Content-Type": "application/json"} if data else {})
        request = urllib.request.Request(address, data, headers, method=method)
        shown = f"{method} {urlsplit(address).path}"
        try:
            return urllib.request.build_opener(_NoRedirects).open(request, timeout=_PATIENCE)
        except urllib.error.HTTPError as error:
            with error:
                if moved and error.code in (301, 302, 303, 307, 308) and error.headers["Location"]:
                    return str(error.headers["Location"])
                hint = self.refused if error.code in (401, 403, 404) else ""
                raise CodeHostError(f"answered {error.code} {error.reason}", where=shown, hint=hint) from None
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise CodeHostError(f"cannot be reached: {reason}", where=shown) from None

    def _read(self, response: Any, limit: int, path: str) -> bytes:
        try:
            with response:
                content = bytes(response.read(limit + 1))
        except (OSError, HTTPException) as error:
            raise CodeHostError(f"broke off: {error}", where=path) from None
        if len(content) > limit:
            raise CodeHostError(f"is larger than {limit // 1024**2} MiB", where=path)
        return content
