"""Taking a user's message in: whole into the log, short into the view when it is too large for the session.

Not a refusal (a message that fits no window is `compaction.gates.check_prompt`'s).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

from agent.session import Session
from agent.tools.contract import Refused
from agent.tools.images import data_url
from compaction.records import UserSaid
from compaction.tokens import IMAGE, MESSAGE

# A user message above this share (percent) of the session's first trigger is admitted short: whole, it would leave no
# room for the work it asks for, and every gate after it would have to cut it differently.
ADMIT_SHARE = 80


def admit(session: Session, text: str, images: tuple[str, ...] = ()) -> UserSaid:
    """The message as it will be logged: whole, with the number of characters views show when it is too large."""
    started = session.view.started
    most = (started.trigger if started else session.budget.trigger) * ADMIT_SHARE // 100
    tokens = session.ruler.count(text)
    if tokens <= most or most <= 0:
        return UserSaid(text, images=images)
    return UserSaid(text, images=images, admitted=max(1, len(text) * most // tokens))


def unusable(images: Iterable[str]) -> str | None:
    """Why one of these data URLs would be refused by every provider; None when all are fine.

    An image that cannot be decoded would poison each later request of the session.
    """
    for url in images:
        try:
            data_url(base64.b64decode(url.partition(",")[2], validate=True))
        except (Refused, binascii.Error, ValueError) as error:
            return f"the image was not sent: {error}"
    return None


def prompt_tokens(session: Session, said: UserSaid) -> int:
    """What the prompt must have room for, uncalibrated tokens: all of it, though a view may show less.

    A message larger than the window is refused rather than shortened: most of it would not be seen.
    """
    return MESSAGE + session.ruler.count(said.text) + IMAGE * len(said.images)
