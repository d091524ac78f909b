"""What every session of the program is given: places, model client, catalogue, counter, prompts.

Not a front end and not a session; nothing is asked of any server here.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from agent import counting, places, settings
from agent.counting.child import CountChild
from agent.endpoints import Endpoints
from agent.instructions import prompt
from agent.keys import Keys
from agent.mcp.server import servers_of
from agent.mcp.servers import LISTED, LISTED_ALONE, Servers
from agent.models.catalogue import Catalogue
from agent.models.learned import Learned
from agent.models.remote import RemoteModel
from agent.models.routed import RoutedModel
from agent.session import Kit
from compaction.summary import Prompts
from tui.version import VERSION


def make_kit(
    chosen: settings.Settings, here: places.Places, *, interactive: bool, start: bool = False,
    environ: Mapping[str, str] = os.environ, load: Callable[[], settings.Settings] | None = None,
    talks: bool = False,
) -> Kit:  # fmt: skip
    """All a session is given. `start` begins loading the provider library in its own process at once.

    `load` reads the settings again as they were for this run.
    MCP servers are there where a model is talked to: with a screen, or (`talks`) for one turn without one.
    With a screen (`interactive`) tokens are counted in a process of their own; `Opening.aclose` ends it.
    """
    catalogue = Catalogue(Learned(here.state / "learned.json"))
    remote = RemoteModel(log=here.state / "model-host.log", environ=environ, supports_effort=catalogue.supports_effort)
    counted = CountChild() if interactive else None
    if start:
        remote.start()
        if counted is not None:
            counted.start()
        else:
            counting.warm()
    endpoints = Endpoints(chosen, environ, Keys(here.keys))
    return Kit(
        settings=chosen,
        places=here,
        model=RoutedModel(remote, here.state),
        catalogue=catalogue,
        endpoints=endpoints,
        count=counted or counting.count,
        counted=counted,
        summary_prompts=Prompts(
            prompt("summary_system"), prompt("summary_first"), prompt("summary_update"), prompt("summary_in_context")
        ),
        emit=lambda event: None,
        clock=time.time,
        environ=environ,
        interactive=interactive,
        load=load,
        servers=_servers(chosen, here, environ, interactive) if interactive or talks else None,
        versions=f"ullage {VERSION}, python {sys.version_info.major}.{sys.version_info.minor}",
    )


def _servers(
    chosen: settings.Settings, here: places.Places, environ: Mapping[str, str], interactive: bool
) -> Servers:  # fmt: skip
    return Servers(servers_of(chosen, Path.cwd()), here, environ, patience=LISTED if interactive else LISTED_ALONE)
