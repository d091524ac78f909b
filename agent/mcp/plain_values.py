"""What a server lists and answers, from the library's objects to plain values: the child process sends these on.

Not the asking (that is `connection`) and no judgement: what is foreign is bounded here and cleaned by the parent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agent.models.pipe import Message

# Characters of one text of a result: what is shown is a preview anyway, and what is kept should open in an editor.
MOST_TEXT = 10_000_000

# Deeper schemas and results are no data but an attack on JSON readers; levels.
DEEPEST = 64

# Resources and prompts that are listed: a list to complete from, not a store's whole content. Others can be named.
MOST_LISTED = 1_000


def answer_of(result: Any) -> Message:
    """A call's result as plain values: `texts`, `images` as [kind, base64], `failed`."""
    texts, images = parts_of(result.content)
    if not any(text.strip() for text in texts) and result.structured_content is not None:
        deep = deeper_than(result.structured_content, DEEPEST)
        texts = ["[a result nested too deep]" if deep else json.dumps(result.structured_content, ensure_ascii=False)]
    return {"texts": texts, "images": images, "failed": bool(result.is_error)}


def messages_of(result: Any) -> Message:
    """A prompt as plain values: `messages`, each with `role`, `texts` and `images`."""
    found = []
    for message in result.messages:
        texts, images = parts_of([message.content])
        found.append({"role": message.role, "texts": texts, "images": images})
    return {"messages": found}


def contents_of(result: Any) -> Message:
    """A resource as plain values: `texts` and `images`."""
    texts: list[str] = []
    images: list[list[str]] = []
    for inside in result.contents:
        text, kind = getattr(inside, "text", None), inside.mime_type or "of no named kind"
        if text is not None:
            texts.append(_cut(text))
        elif kind.startswith("image/"):
            images.append([kind, inside.blob])
        else:
            texts.append(f"[{len(inside.blob) * 3 // 4:,} bytes ({kind}), which are no text]")
    return {"texts": texts, "images": images}


def parts_of(content: Sequence[Any]) -> tuple[list[str], list[list[str]]]:
    """Blocks of content as texts and images, [kind, base64]."""
    texts: list[str] = []
    images: list[list[str]] = []
    for block in content:
        match block.type:
            case "text":
                texts.append(_cut(block.text))
            case "image":
                images.append([block.mime_type, block.data])
            case "audio":
                texts.append(f"[audio ({block.mime_type}), which cannot be passed on]")
            case "resource_link":
                texts.append(f"[resource {block.name}: {block.uri}]")
            case "resource":
                inside = block.resource
                text = getattr(inside, "text", None)
                texts.append(_cut(text) if text is not None else f"[resource {inside.uri}, which is no text]")
            case other:
                texts.append(f"[a part of the unknown kind {other}]")
    return texts, images


def _cut(text: str) -> str:
    left = len(text) - MOST_TEXT
    return text if left <= 0 else f"{text[:MOST_TEXT]}\n[{left:,} more characters were cut off]"


def tool_row(tool: Any) -> Message:
    """A tool as it was listed."""
    hints = tool.annotations
    schema = tool.input_schema
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "schema": {} if deeper_than(schema, DEEPEST) else schema,
        "reads": hints is not None and hints.read_only_hint is True,
    }


def prompt_row(prompt: Any) -> Message:
    """A prompt as it was listed."""
    wanted = [{"name": one.name, "required": one.required is True} for one in prompt.arguments or ()]
    return {"name": prompt.name, "description": prompt.description or prompt.title or "", "arguments": wanted}


def resource_row(resource: Any) -> Message:
    """A resource as it was listed."""
    said = resource.title or resource.description or resource.name or ""
    return {"uri": str(resource.uri), "description": said}


def deeper_than(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested deeper than that."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(deeper_than(one, levels - 1) for one in inner)
