"""The page. Requests contain foreign text: every value goes through `_element` or `escape`."""

from collections.abc import Mapping, Sequence
from html import escape
import json
from pathlib import Path
from typing import Any, Final

from .answers import Answer, Message, text_of
from .requests import ChatRequest, State

_TEMPLATE: Final = (Path(__file__).parent / "page.html").read_text(encoding="utf-8")
_SHOWN_SEPARATELY: Final = ("messages", "tools")


def render(
    shown: ChatRequest | None, requests: Sequence[ChatRequest], *, newest: int, delay: int, nonce: str
) -> str:
    """Return the page with a request and the list of all; `delay` is in milliseconds."""
    content = _element("p", "No request has arrived yet.") if shown is None else _request(shown, delay)
    listed = "".join(_listed(request) for request in reversed(requests))
    head, main, foot = _TEMPLATE.replace("{{nonce}}", nonce).replace("{{newest}}", str(newest)).split("{{…}}")
    return head + content + main + listed + foot


def _element(tag: str, text: str, kind: str = "") -> str:
    """Return an element with text, which is escaped."""
    attribute = f' class="{escape(kind)}"' if kind else ""
    begin = "\n" if tag == "pre" else ""  # browsers drop the first line feed of a <pre>
    return f"<{tag}{attribute}>{begin}{escape(text)}</{tag}>"


def _details(title: str, inner: str) -> str:
    """Return a part that can be folded; `inner` is HTML."""
    return f"<details><summary>{escape(title)}</summary>{inner}</details>"


def _request(request: ChatRequest, delay: int) -> str:
    tokens = request.tokens
    facts = (
        f"{request.received:%H:%M:%S} UTC, model {request.body.get('model')}, {request.state}"
        f"{f' ({request.note})' if request.note else ''}, about {sum(tokens.values())} tokens: "
        f"{tokens['messages']} in messages, {tokens['tools']} in tools"
    )
    tools = "".join(_tool(tool) for tool in request.tools)
    others = {key: value for key, value in request.body.items() if key not in _SHOWN_SEPARATELY}
    messages = "".join(
        _message(message, is_new=request.new_from is not None and index >= request.new_from)
        for index, message in enumerate(request.messages)
    )
    answer = _answer(request.answer) if request.answer else ""
    return (
        _element("h2", f"Request {request.number}")
        + _element("p", facts, "facts")
        + _details(f"Tools: {len(request.tools)}", tools)
        + _details("Parameters", _element("pre", _json(others)))
        + messages
        + answer
        + (_form(request, delay) if request.state is State.WAITING else "")
    )


def _message(message: Message, *, is_new: bool) -> str:
    title = f"{message['role']}{' (new)' if is_new else ''}"
    calls = "".join(_call(call["function"]) for call in message.get("tool_calls") or ())
    text = text_of(message)
    return (
        f'<section class="message{" new" if is_new else ""}">{_element("h3", title)}'
        f"{_element('pre', text) if text else ''}{calls}</section>"
    )


def _call(function: Mapping[str, Any]) -> str:
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return _element("pre", f"{function.get('name')}({text})", "call")


def _answer(answer: Answer) -> str:
    thinking = _element("pre", answer.thinking, "facts") if answer.thinking else ""
    text = _element("pre", answer.text) if answer.text else ""
    calls = "".join(_call({"name": call.name, "arguments": call.arguments}) for call in answer.calls)
    return f'<section class="message answer">{_element("h3", "answer")}{thinking}{text}{calls}</section>'


def _tool(tool: Mapping[str, Any]) -> str:
    parameters = tool.get("parameters")
    described = "".join(
        _element("li", f"{name}: {value['description']}")
        for name, value in _properties(parameters).items()
        if isinstance(value, Mapping) and value.get("description")
    )
    return (
        _element("h3", str(tool.get("name")))
        + _element("pre", signature(str(tool.get("name")), parameters))
        + _element("p", str(tool.get("description") or ""))
        + (f"<ul>{described}</ul>" if described else "")
        + _details("Schema", _element("pre", _json(parameters)))
    )


def signature(name: str, parameters: Any) -> str:
    """Return a tool as `name(required: type, optional?: type)`."""
    listed = parameters.get("required") if isinstance(parameters, Mapping) else None
    required = listed if isinstance(listed, list) else []
    fields = [
        f"{field}{'' if field in required else '?'}: {_type(schema)}"
        for field, schema in _properties(parameters).items()
    ]
    return f"{name}({', '.join(fields)})"


def _properties(schema: Any) -> Mapping[str, Any]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _type(schema: Any) -> str:
    """Return a JSON schema as a short type."""
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(values := schema.get("enum"), list):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
    if isinstance(choices := schema.get("anyOf") or schema.get("oneOf"), list):
        return " | ".join(_type(choice) for choice in choices)
    kinds = schema.get("type")
    if kinds == "array":
        return f"[{_type(schema.get('items'))}]"
    if kinds == "object" and (properties := _properties(schema)):
        return f"{{{', '.join(f'{name}: {_type(value)}' for name, value in properties.items())}}}"
    return " | ".join(map(str, kinds)) if isinstance(kinds, list) else str(kinds or "any")


def _form(request: ChatRequest, delay: int) -> str:
    options = "".join(_element("option", name) for name in request.offered)
    add = '<button type="button" id="add">Add a tool call</button>' if options else ""
    return (
        f'<form id="answer" data-number="{request.number}"><h3>Answer</h3>'
        '<label>Text <textarea name="text" rows="4"></textarea></label><div id="calls"></div>'
        f'{add}<label>Milliseconds after each word <input name="delay" type="number" min="0" max="10000" '
        f'value="{delay}"></label><button>Send</button><p id="problem" role="alert"></p></form>'
        f'<template id="call"><fieldset><label>Tool <select>{options}</select></label>'
        '<label>Arguments, as JSON <textarea rows="4" spellcheck="false">{}</textarea></label>'
        '<button type="button">Remove</button></fieldset></template>'
    )


def _listed(request: ChatRequest) -> str:
    summary = request.summary()
    said = ""
    if request.answer:
        called = [f"{call.name}(…)" for call in request.answer.calls]
        said = " ".join(filter(None, [request.answer.text, *called]))
    title = _element("span", f"{request.number}. {request.note or summary['sentence']}")
    return (
        f'<li><a href="/requests/{request.number}">{title}</a> {_element("em", request.state)}'
        f"{_element('p', said) if said else ''}</li>"
    )


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
