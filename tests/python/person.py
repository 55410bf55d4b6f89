"""A person with a browser, who agrees to everything that an authorization server's page asks. As a program: `person.py URL`, as
`$BROWSER` is called."""

from __future__ import annotations

import html.parser
import http.cookiejar
import sys
import urllib.error
import urllib.parse
import urllib.request


class Fields(html.parser.HTMLParser):
    """The hidden fields of a page's form."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == 'input' and values.get('type') == 'hidden':
            self.found[str(values['name'])] = str(values['value'])


class Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirects."""

    def redirect_request(self, *_: object) -> None:
        return None


def agree(page: str) -> str:
    """Opens a page, agrees, and returns the address that the browser is sent to then."""
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    browser = urllib.request.build_opener(Stays, cookies)

    def redirected(url: str, form: dict[str, str] | None = None) -> str:
        body = urllib.parse.urlencode(form).encode() if form else None
        try:
            with browser.open(url, body, timeout=30) as response:
                raise AssertionError(f'{url} redirects nowhere: {response.read()!r}')
        except urllib.error.HTTPError as error:
            assert error.code == 303, (url, error.code, error.read())
            return error.headers['location']

    consent = redirected(page)
    with browser.open(consent, timeout=30) as response:
        form = Fields(response.read().decode()).found
    return redirected(consent.split('?')[0], {**form, 'answer': 'allow'})


if __name__ == '__main__':
    with urllib.request.urlopen(agree(sys.argv[1]), timeout=30) as page:
        page.read()
