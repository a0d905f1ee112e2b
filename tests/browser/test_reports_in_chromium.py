"""Reports in a real browser: no error, every control used, both themes, narrow and wide."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

webdriver = pytest.importorskip("selenium.webdriver")

from report_kinds import KINDS, made  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs Debian's chromium and chromium-driver"
)
SHOTS = os.environ.get("WIDEMARGIN_SCREENSHOTS")
"""Folder that screenshots are kept in."""


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return {kind: made(kind).save(folder / f"{kind}.html").resolve().as_uri() for kind in KINDS}


def show(browser, address: str, width: int, theme: str, height: int = 900) -> None:
    features = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(address)


def keep(browser, name: str) -> None:
    """Keep a picture of the whole page, if a folder is named."""
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        height = browser.execute_script("return document.documentElement.scrollHeight")
        width = browser.execute_script("return innerWidth")
        size = {"width": width, "height": min(height, 6000), "deviceScaleFactor": 1}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size | {"mobile": False})
        browser.save_screenshot(str(Path(SHOTS) / f"{name}.png"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1600])
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_opens_without_an_error(browser, pages, kind: str, width: int, theme: str) -> None:
    spent = []
    while len(spent) < 4 and min(spent, default=1e9) > 1000:  # other work may delay one of them
        show(browser, pages[kind], width, theme)
        script = "const [t] = performance.getEntriesByType('navigation'); return t.loadEventEnd"
        spent.append(browser.execute_script(script))
    assert 0 < min(spent) < 1000
    assert browser.get_log("browser") == []
    across = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert across[0] <= across[1], "nothing is cut off or scrolls sideways"
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(v) for v in colour[4:-1].split(",")[:3])
    assert (brightness > 500) == (theme == "light")
    keep(browser, f"{kind}-{width}-{theme}")


def test_the_theme_switch_is_remembered(browser, pages) -> None:
    show(browser, pages["fit"], 1600, "light")
    browser.execute_script("localStorage.clear()")
    browser.refresh()
    button = browser.find_element("id", "theme")
    assert button.text == "Dark theme"
    button.click()
    before = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert button.text == "Light theme"
    browser.refresh()
    after = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert before == after == "rgb(17, 21, 27)"
    browser.execute_script("localStorage.clear()")


@pytest.mark.parametrize("kind", KINDS)
def test_every_switch_shows_its_own_pane(browser, pages, kind: str) -> None:
    show(browser, pages[kind], 1600, "light")
    groups = browser.find_elements("css selector", ".views")
    assert groups
    for group in groups:
        panes = group.find_elements("xpath", "./div[contains(@class,'pane')]")
        labels = group.find_elements("xpath", "./label")
        assert len(panes) == len(labels) > 1
        if not group.is_displayed():
            continue  # inside a pane that is not shown now
        for place, label in enumerate(labels):
            browser.execute_script("arguments[0].click()", label)
            shown = [pane.is_displayed() for pane in panes]
            assert shown == [other == place for other in range(len(panes))]
    assert browser.get_log("browser") == []


def test_hovering_shows_a_number_and_a_click_sorts(browser, pages) -> None:
    show(browser, pages["comparison"], 1600, "light")
    browser.execute_script(
        "const d = document.querySelector('circle[data-t]'), b = d.getBoundingClientRect();"
        "const where = {bubbles: true, clientX: b.x, clientY: b.y};"
        "d.dispatchEvent(new PointerEvent('pointermove', where))"
    )
    tip = browser.find_element("id", "tip")
    time.sleep(0.2)
    assert "after" in tip.get_attribute("textContent")
    assert "on" in tip.get_attribute("class")
    table = browser.find_element("css selector", "table.sort")

    def names() -> list[str]:
        return [row.text.split()[0] for row in table.find_elements("css selector", "tbody tr")]

    head = table.find_elements("css selector", "th")[0]
    head.click()
    assert names() == sorted(names())
    head.click()
    assert names() == sorted(names(), reverse=True)
    assert browser.get_log("browser") == []


def test_it_is_useful_without_scripts(browser, pages) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(browser, pages["search"], 1600, "light")
        group = browser.find_element("css selector", ".views")
        labels = group.find_elements("xpath", "./label")
        labels[1].click()
        panes = group.find_elements("xpath", "./div[contains(@class,'pane')]")
        assert [pane.is_displayed() for pane in panes][:2] == [False, True]
        assert not browser.find_element("id", "theme").is_displayed()
        assert "Certified:" in browser.find_element("tag name", "body").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_a_print_shows_every_pane(browser, pages) -> None:
    show(browser, pages["fit"], 1600, "light")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    panes = browser.find_elements("css selector", ".pane")
    assert all(pane.is_displayed() for pane in panes)
    assert not browser.find_element("id", "theme").is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
