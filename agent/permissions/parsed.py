"""A shell line taken apart far enough to know every program it starts, or the plain statement that we cannot know.

Not a shell: what is not understood for certain is `Opaque`, with the reason, and leads to a question. Understood are
simple commands with quoted or plain words, joined by `&&`, `||`, `;`, `|`, `&` and line ends, with redirections to
plain files.

Invariants
 1. For a line that is not `Opaque`, bash starts exactly these commands, in this order, with these words; a word that is
    not `literal` stands for file names only bash knows (`*`, `?`, `[…]`, `{a,b}`, `~`).
 2. Substitutions, here documents, subshells, functions, reserved words and control characters are never understood.
"""

from __future__ import annotations

from dataclasses import dataclass

# Words that open a construct; bash knows them at the place of a command's name only.
RESERVED = {"if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "in"}
RESERVED |= {"function", "coproc", "time", "{", "}", "!", "[[", "]]"}

_JOINTS = ("&&", "||", "|&", ";", "|", "&", "\n")
_REDIRECTS = ("&>>", "&>", "<>", ">>", ">|", ">&", "<&", ">", "<")


@dataclass(frozen=True, slots=True)
class Word:
    """One word after quotes are taken off. `literal`: bash passes exactly this text."""

    text: str
    literal: bool = True


@dataclass(frozen=True, slots=True)
class Redirect:
    """`operator` as written, without its number; `target` a file or, after `>&` and `<&`, a number."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class Command:
    """One program to start. `before` and `after` are the joints around it, empty at the line's ends.

    `assignments` are the `NAME=value` words in front; a command of assignments alone has no words.
    """

    words: tuple[Word, ...]
    assignments: tuple[str, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    before: str = ""
    after: str = ""

    @property
    def name(self) -> str:
        """The first word's text; empty when there is none."""
        return self.words[0].text if self.words else ""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A line that is not understood, and why."""

    why: str


class _NotUnderstood(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Joint:
    text: str


@dataclass(frozen=True, slots=True)
class _Arrow:
    text: str


_Token = Word | _Joint | _Arrow


def parse(line: str) -> tuple[Command, ...] | Opaque:
    """The commands of a line, in order; none for a line of blanks and comments."""
    try:
        return _commands(_Reader(line).tokens())
    except _NotUnderstood as error:
        return Opaque(str(error))


class _Reader:
    """Cuts a line into words and operators as bash does."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0
        self._text: list[str] = []
        self._bare: list[str] = []
        self._begun = False
        self._tokens: list[_Token] = []

    def tokens(self) -> list[_Token]:
        line = self._line
        while self._at < len(line):
            char = line[self._at]
            if char in " \t":
                self._end()
                self._at += 1
            elif char == "\\":
                self._escaped()
            elif char == "'":
                self._single()
            elif char == '"':
                self._double()
            elif char == "#" and not self._begun:
                end = line.find("\n", self._at)
                self._at = len(line) if end < 0 else end
            elif char in "&|;<>\n":
                self._operator()
            elif char in "$`":
                raise _NotUnderstood("it substitutes a variable or a command")
            elif char in "()":
                raise _NotUnderstood("it has parentheses")
            elif not char.isprintable() or char.isspace():
                raise _NotUnderstood("it has an invisible character")
            else:
                # The place matters for a tilde: at the front, and after what may be an assignment's or a list's mark.
                folds = char == "~" and (not self._begun or self._text[-1:] in ([":"], ["="]))
                self._bare.append("^~" if folds else char)
                self._add(char)
                self._at += 1
        self._end()
        return self._tokens

    def _add(self, text: str) -> None:
        self._text.append(text)
        self._begun = True

    def _end(self) -> None:
        if self._begun:
            text = "".join(self._text)
            self._tokens.append(Word(text, not _expands("".join(self._bare), text)))
        self._text, self._bare, self._begun = [], [], False

    def _escaped(self) -> None:
        following = self._line[self._at + 1 : self._at + 2]
        if not following:
            raise _NotUnderstood("it ends in a backslash")
        if following != "\n":
            self._add(following)
        self._at += 2

    def _single(self) -> None:
        end = self._line.find("'", self._at + 1)
        if end < 0:
            raise _NotUnderstood("a quote is not closed")
        self._add(self._line[self._at + 1 : end])
        self._at = end + 1

    def _double(self) -> None:
        self._add("")
        at = self._at + 1
        while True:
            char = self._line[at : at + 1]
            if char == "":
                raise _NotUnderstood("a quote is not closed")
            if char == '"':
                self._at = at + 1
                return
            if char in "$`":
                raise _NotUnderstood("it substitutes a variable or a command")
            if char == "\\" and self._line[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
                at += 1
                char = "" if self._line[at] == "\n" else self._line[at]
            self._add(char)
            at += 1

    def _operator(self) -> None:
        rest = self._line[self._at : self._at + 3]
        if rest.startswith(("<<", "<(", ">(")):
            raise _NotUnderstood("it has a here document or a process substitution")
        arrow = next((a for a in _REDIRECTS if rest.startswith(a)), None)
        if arrow is not None:
            # A number right before the arrow names the stream, it is no word.
            if arrow[0] in "<>" and self._begun and self._text == self._bare and _number(self._text):
                self._text, self._bare, self._begun = [], [], False
            self._end()
            self._tokens.append(_Arrow(arrow))
            self._at += len(arrow)
            return
        joint = next(j for j in _JOINTS if rest.startswith(j))
        if rest.startswith((";;", ";&")):
            raise _NotUnderstood("it has a case ending")
        self._end()
        self._tokens.append(_Joint(joint))
        self._at += len(joint)


def _number(text: list[str]) -> bool:
    return all(char in "0123456789" for char in text)


def _expands(bare: str, text: str) -> bool:
    """Whether bash may make other words of a word, whose unquoted characters are `bare`."""
    braced = "{" in bare and ("," in text or ".." in text)
    return braced or "^~" in bare or any(char in bare for char in "*?[")


def _commands(tokens: list[_Token]) -> tuple[Command, ...]:
    done: list[Command] = []
    words: list[Word] = []
    redirects: list[Redirect] = []
    before = ""
    waiting: _Arrow | None = None
    for token in [*tokens, _Joint("")]:
        if waiting is not None:
            if not isinstance(token, Word):
                raise _NotUnderstood("a redirection has no target")
            redirects.append(Redirect(waiting.text, token))
            waiting = None
        elif isinstance(token, _Arrow):
            waiting = token
        elif isinstance(token, Word):
            words.append(token)
        elif words or redirects:
            done.append(_command(words, redirects, before, token.text))
            words, redirects, before = [], [], token.text
        elif token.text != "\n" and (token.text or before not in ("", ";", "&", "\n")):
            # A line end may follow any joint; every other empty command is an error, or a construct we do not know.
            raise _NotUnderstood("a command is missing")
    return tuple(done)


def _command(words: list[Word], redirects: list[Redirect], before: str, after: str) -> Command:
    count = 0
    while count < len(words) and _assigns(words[count].text):
        count += 1
    rest = words[count:]
    if rest and rest[0].text in RESERVED:
        raise _NotUnderstood(f"it uses {rest[0].text}")
    return Command(tuple(rest), tuple(w.text for w in words[:count]), tuple(redirects), before, after)


def _assigns(text: str) -> bool:
    """Whether a word at a command's front is an assignment. A quoted one is none to bash; we ask all the same."""
    name, equals, _ = text.partition("=")
    name = name.removesuffix("+").split("[", 1)[0]
    return equals == "=" and name.isidentifier() and name.isascii()
