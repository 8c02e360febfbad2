/**
 * Builds site/vendor: the three libraries that the app stands on, each bundled into one readable module.
 *
 * One rule: what is committed there is exactly what this makes of the locked packages; the tests build it again.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const out = process.argv[2] ?? "site/vendor";

const bundles = {
  ui: {
    packages: ["preact", "htm"],
    source: `
      import { h } from "preact";
      import htm from "htm";
      export { h, render, cloneElement } from "preact";
      export { useState, useEffect, useLayoutEffect, useRef, useMemo, useId, useErrorBoundary } from "preact/hooks";
      export const html = htm.bind(h);`,
  },
  markdown: { packages: ["marked"], source: `export { Lexer } from "marked";` },
  identity: {
    packages: ["@netlify/identity", "gotrue-js"],
    source: `export { oauthLogin, handleAuthCallback, getUser, logout, refreshSession } from "@netlify/identity";`,
  },
};

const versionOf = (name) => JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));

for (const [name, { packages, source }] of Object.entries(bundles)) {
  const stands = packages.map(versionOf).map((it) => `${it.name} ${it.version} (${it.license})`);
  const made = await build({
    stdin: { contents: source, resolveDir: "." },
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    minify: true,
    legalComments: "none",
    write: false,
    logLevel: "warning",
  });
  writeFileSync(`${out}/${name}.js`, `// ${stands.join(", ")}; see LICENSES.txt\n${made.outputFiles[0].text}`);
}

const licences = [...new Set(Object.values(bundles).flatMap(({ packages }) => packages))].map((name) => {
  const file = ["LICENSE", "LICENSE.md", "license"].find((it) => {
    try {
      return readFileSync(`node_modules/${name}/${it}`, "utf8");
    } catch {
      return false;
    }
  });
  const text = file ? readFileSync(`node_modules/${name}/${file}`, "utf8").trim() : `Licensed under ${versionOf(name).license}.`;
  return `== ${name} ${versionOf(name).version}\n\n${text}\n`;
});
writeFileSync(`${out}/LICENSES.txt`, licences.join("\n"));
