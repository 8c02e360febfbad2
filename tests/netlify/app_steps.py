"""The steps of the app's own site, one after the other."""

import attrs

from tests.messages_api.server import MessagesApi
from tests.netlify.app_doors import Doors
from tests.netlify.app_times import Times
from tests.netlify.loopback import loopback


@attrs.define(kw_only=True)
class AppSteps(Doors, Times):
    """All of them."""

    async def take(self, database_url: str, api: MessagesApi) -> None:
        """Take them; the last with a real dreamwalker on this database."""
        async with loopback(self.identity.app) as self.url, loopback(self.upstream) as self.upstream_url:
            async with self.site(self.upstream_url) as it:
                await self.let_in(it)
                await self.refuse(it)
                await self.origins(it)
                await self.side_by_side(it)
                await self.headers(it)
                await self.paths(it)
                await self.bodies(it)
                await self.failures(it)
                await self.limits(it)
                await self.outage(it)
                self.hidden(it)
            await self.set_up_wrongly()
            await self.talk(database_url, api)
