"""A search service on loopback, in the formats of Tavily, DuckDuckGo and SearXNG."""

from html import escape
import json
from typing import override
from urllib.parse import parse_qs, quote

from .loopback import Captured, LoopbackServer, Rendered
from .replies import Reply

FOUND = (
    ("Kiel weather", "https://weather.example/kiel", "Sunny, 20 degrees"),
    ("Kiel harbour", "https://harbour.example/", "Wind from the west"),
)
type Results = tuple[tuple[str, str, str], ...]


class SearchServer(LoopbackServer):
    """Answers by path with what was found, or with what a test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Results = FOUND
        self.replies: list[Reply] = []
        """Answered first, one after the other."""
        self.json_allowed = True

    @property
    def queries(self) -> list[str]:
        return [query for request in self.requests if (query := query_of(request))]

    @property
    def sent(self) -> str:
        return "\n".join(
            f"{request.path}?{request.query} {dict(request.headers)} {request.raw.decode('utf-8', 'replace')}"
            for request in self.requests
        )

    @override
    def choose(self, request: Captured) -> Reply:
        """Return a scripted reply, or results in the format that the path stands for."""
        if self.replies:
            return self.replies.pop(0)
        if request.path.endswith(("/html/", "/lite/")):
            return page(duckduckgo(self.found))
        if request.json is not None:
            return Reply(body=tavily(self.found).encode())
        if "format=json" in request.query:
            if not self.json_allowed:
                return Reply(status=403, body=b"<html>Forbidden</html>", content_type="text/html")
            return Reply(body=searxng(self.found).encode())
        return page(searxng_page(self.found))

    @override
    def render(self, request: Captured, reply: Reply) -> Rendered:
        """Return the reply as it is."""
        return Rendered(reply.content_type, whole=reply.body or b"")


def query_of(request: Captured) -> str:
    if request.json is not None:
        return str(request.json["query"])
    text = request.query or request.raw.decode()
    return parse_qs(text).get("q", [""])[0]


def page(html: str, status: int = 200) -> Reply:
    return Reply(status=status, body=html.encode(), content_type="text/html; charset=utf-8")


def tavily(found: Results) -> str:
    """Return results as Tavily gives them."""
    results = [
        {"title": title, "url": url, "content": text, "score": 0.9, "raw_content": None}
        for title, url, text in found
    ]
    return json.dumps({"query": "q", "answer": None, "images": [], "results": results, "response_time": 1.2})


def searxng(found: Results) -> str:
    """Return results as SearXNG gives them."""
    results = [
        {"title": title, "url": url, "content": text, "engine": "bing", "category": "general"}
        for title, url, text in found
    ]
    return json.dumps(
        {"query": "q", "number_of_results": 0, "results": results, "answers": [], "unresponsive_engines": []}
    )


def searxng_page(found: Results) -> str:
    articles = "".join(
        f'<article class="result result-default category-general"><a href="{escape(url)}" class="url_header">'
        f'<div class="url_wrapper">{escape(url)}</div></a><h3><a href="{escape(url)}" rel="noreferrer">'
        f'{escape(title)}</a></h3><p class="content">{escape(text)}</p>'
        f'<div class="engines"><span>bing</span></div><div class="break"></div></article>'
        for title, url, text in found
    )
    return f'<!DOCTYPE html><html><body><main id="main_results"><div id="urls">{articles}</div></main></html>'


def duckduckgo(found: Results) -> str:
    """Return the page of DuckDuckGo without scripts, an advertisement first."""
    items = "".join(
        f"""<div class="result results_links results_links_deep web-result ">
        <div class="links_main links_deep result__body"><h2 class="result__title">
        <a rel="nofollow" class="result__a"
        href="//duckduckgo.com/l/?uddg={quote(url, safe="")}&amp;rut=abc">{title}</a>
        </h2><div class="result__extras"><a class="result__url" href="#">x</a></div>
        <a class="result__snippet" href="#">{text}</a><div class="clear"></div></div></div>"""
        for title, url, text in found
    )
    return f"""<!DOCTYPE html><html><head><style>.result__a {{ }}</style></head><body>
    <form id="search_form_homepage"><select><option>All<option>Germany</select></form>
    <div class="serp__results"><div id="links" class="results">
    <div class="result result--ad"><h2><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x">Buy</a></h2>
    <a class="result__snippet" href="#">Advert</a></div>{items}</div></div></body></html>"""


RIDDLE = """<html><body><form id="challenge-form"><div class="anomaly-modal__title">Unfortunately, bots use
DuckDuckGo too.</div></form></body></html>"""
