/**
 * A conversation on the screen, newest at the bottom.
 *
 * One rule: only what is near the window is drawn. The rest is empty space of the height that it had, so that a
 * conversation of years opens, and scrolls, like one of today.
 */

import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/ui.js";
import { Entry } from "./entry.js";
import { BLOCK } from "./rows.js";

/** Blocks are drawn so far beyond the window. */
const MARGIN = "1400px 0px";
const MORE_WITHIN_PX = 1_600;
export const AT_END_PX = 48;

/**
 * The entries of some rows, and what stands below them. More is read as its end comes near.
 * @param {{rows: Rows, label: string, scroller: object, atEnd: (yes: boolean) => void, before?: any, children: any}} given
 */
export function Transcript({ rows, label, scroller, atEnd, before = null, children }) {
  const hold = useStayWhereRead(scroller, rows);
  const look = () => {
    if (scroller.current === null) return; // it was left meanwhile
    hold();
    const { scrollTop, scrollHeight, clientHeight } = scroller.current; // scrollTop is 0 at the end, and negative above it
    atEnd(scrollTop > -AT_END_PX && !rows.newer);
    if (rows.more && scrollHeight - clientHeight + scrollTop < MORE_WITHIN_PX) rows.older().catch(() => {});
    if (rows.newer && scrollTop > -MORE_WITHIN_PX) rows.later().catch(() => {});
  };
  useEffect(() => {
    if (rows.more || rows.newer) look(); // what came may not be enough, or have come at the other end
  }, [rows.first, rows.last]);
  return html`<div class="transcript" ref=${scroller} onScroll=${look} tabindex="0" role="group" aria-label=${label}>
    <div class="flow">
      ${before}
      ${rows.blocks.map(({ block, version }) => html`<${Block} key=${block} rows=${rows} block=${block} version=${version} scroller=${scroller} />`)}
      ${children}
    </div>
  </div>`;
}

/** Whoever reads further up stays there, whatever comes or goes above and below. @returns what to call after scrolling */
function useStayWhereRead(scroller, rows) {
  const anchor = useRef(null);
  const hold = () => {
    const { left, top, width, height } = scroller.current.getBoundingClientRect();
    const further = scroller.current.scrollTop < -AT_END_PX || rows.newer;
    const node = further ? document.elementFromPoint(left + width / 2, top + height / 2)?.closest(".flow > *, .block > *") : null;
    anchor.current = node && !node.matches(".block") ? { node, top: node.getBoundingClientRect().top } : null;
  };
  useLayoutEffect(() => {
    const held = anchor.current;
    if (!held?.node.isConnected) return;
    const moved = held.node.getBoundingClientRect().top - held.top;
    if (Math.abs(moved) > 1) scroller.current.scrollTop += moved;
  });
  return hold;
}

/** Some entries. Far from the window it is empty space. */
function Block({ rows, block, version, scroller }) {
  const node = useRef(null);
  const height = useRef(0);
  const [near, setNear] = useState(true);
  useEffect(() => {
    const watch = new IntersectionObserver(
      ([it]) => {
        if (!it.isIntersecting && it.target.offsetHeight > 0) height.current = it.target.offsetHeight;
        setNear(it.isIntersecting);
      },
      { root: scroller.current, rootMargin: MARGIN },
    );
    watch.observe(node.current);
    return () => watch.disconnect();
  }, []);
  const drawnBlock = useMemo(
    () => (near ? rows.entriesOf(block).map((entry) => html`<${Entry} key=${entry.seq} conversation=${rows} entry=${entry} />`) : null),
    [near, version, Math.floor(rows.first / BLOCK) === block, rows.runs.size],
  );
  return html`<div class="block" ref=${node} style=${near ? undefined : { height: `${height.current}px` }}>${drawnBlock}</div>`;
}
