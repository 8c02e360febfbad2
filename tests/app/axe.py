"""The accessibility checker axe, asked about a page as it stands."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.app.browser import Window


async def accessible(win: Window) -> None:
    """Fail with what axe finds: nothing is excused."""
    found = await win.do(_violations)
    assert found == [], "\n".join(found)


def _violations(page: Page) -> list[str]:
    violations = Axe().run(page).response["violations"]
    return [
        f"{page.url} {it['id']} ({it['impact']}): {it['help']}: {[node['html'][:160] for node in it['nodes'][:4]]}"
        for it in violations
    ]
