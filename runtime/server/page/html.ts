// The frame of the page; the script fills it in.
export const PAGE_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>edge-detect</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script type="module" src="/page.js"></script>
</head>
<body>
<header>
<h1>edge-detect</h1>
<p id="connection" role="status">connecting</p>
</header>
<main>
<section aria-labelledby="cameras-title">
<h2 id="cameras-title">Cameras</h2>
<div id="cameras"></div>
</section>
<section aria-labelledby="events-title">
<h2 id="events-title">Events</h2>
<ol id="events" reversed></ol>
</section>
</main>
<template id="camera">
<article class="camera">
<header>
<h3></h3>
<p class="facts"></p>
</header>
<div class="picture">
<img alt="">
<svg preserveAspectRatio="none" role="group"></svg>
</div>
<p class="reason" hidden></p>
<details class="lines">
<summary>Scores over the last minute</summary>
<ul class="tracks"></ul>
</details>
<details class="thresholds">
<summary>Thresholds</summary>
<form>
<div class="classes"></div>
<label class="token">Token <input type="password" name="token" autocomplete="off"></label>
<button type="submit">Save</button>
<output></output>
</form>
</details>
</article>
</template>
</body>
</html>
`;
