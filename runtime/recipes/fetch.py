"""fetch.py <list> <directory> [name ...]

Downloads the files of a sha256sum(1) list from the package index that pip is configured for; with
names, only those. Files already there are checked, not fetched again.
"""

import hashlib
import html.parser
import os
import subprocess
import sys
import urllib.parse
import urllib.request


def index_url() -> str:
    """The index pip would use: its environment, its configuration, its default."""
    if url := os.environ.get("PIP_INDEX_URL"):
        return url
    pip = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    configured = subprocess.run(pip, capture_output=True, text=True, check=False)
    if configured.returncode == 0 and configured.stdout.strip():
        return configured.stdout.strip()
    from pip._internal.models.index import PyPI

    return PyPI.simple_url


class Links(html.parser.HTMLParser):
    """The links of a project page (PEP 503), by file name."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.found: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href")
        if tag == "a" and target:
            url = urllib.parse.urldefrag(urllib.parse.urljoin(self.base, target)).url
            name = urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
            self.found[name] = url


def download(index: str, name: str) -> bytes:
    project = name.split("-")[0].replace("_", "-").lower()
    page = f"{index.rstrip('/')}/{project}/"
    with urllib.request.urlopen(page) as answer:
        links = Links(answer.url)
        links.feed(answer.read().decode())
    if name not in links.found:
        sys.exit(f"the index has no {name}")
    with urllib.request.urlopen(links.found[name]) as answer:
        return answer.read()


def main() -> None:
    wanted, directory, *only = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    index = index_url()
    with open(wanted) as lines:
        for line in lines:
            digest, name = line.split()
            if only and name not in only:
                continue
            path = os.path.join(directory, name)
            if os.path.exists(path):
                with open(path, "rb") as file:
                    data = file.read()
            else:
                data = download(index, name)
            if hashlib.sha256(data).hexdigest() != digest:
                sys.exit(f"{name}: SHA-256 differs from {wanted}")
            with open(f"{path}.part", "wb") as file:
                file.write(data)
            os.replace(f"{path}.part", path)
            print(name, flush=True)


if __name__ == "__main__":
    main()
