// SPDX-License-Identifier: MIT
// Loads files into speedscope in a headless Chromium and prints what it made of each, as speedscope exports it, on a line.
//
//   node speedscope.js NODE_MODULES CHROMIUM FILE…
//
// Fails when speedscope warns.
"use strict";
const fs = require("fs");
const path = require("path");

const [modules, executablePath, ...files] = process.argv.slice(2);
const {chromium} = require(path.resolve(modules, "playwright-core"));
const page_of_it = "file://" + path.resolve(modules, "speedscope/dist/release/index.html");

async function load(browser, file) {
	const page = await browser.newPage();
	const warnings = [];
	let download;

	page.on("pageerror", (error) => warnings.push(String(error)));
	page.on("console", (message) => {
		if (["warning", "error"].includes(message.type()) && !message.text().includes("GL Driver"))
			warnings.push(message.text());
	});
	page.on("dialog", (dialog) => {
		warnings.push(dialog.message());
		dialog.dismiss();
	});
	await page.goto(page_of_it);
	await page.setInputFiles("#file", file);
	[download] = await Promise.all([
		page.waitForEvent("download"),
		page.getByText(/Export$/).last().click({timeout: 20000}),
	]);
	process.stdout.write(JSON.stringify(JSON.parse(fs.readFileSync(await download.path(), "utf8"))) + "\n");
	if (warnings.length)
		throw new Error(`${file}: ${warnings.join("\n")}`);
	await page.close();
}

async function main() {
	const browser = await chromium.launch({executablePath, args: ["--no-sandbox"]});

	try {
		for (const file of files)
			await load(browser, file);
	} finally {
		await browser.close();
	}
}

main().catch((error) => {
	process.stderr.write(`${error.stack}\n`);
	process.exit(1);
});
