package web

// notBuilt is what a person sees who opens a hub without a page. It obeys the
// page's policy: no script, no style.
const notBuilt = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Parley</title></head>
<body>
<h1>Parley is running</h1>
<p>This binary was built without the page. Everything else works: the <code>parley</code> command, the REST interface
under <a href="/api/openapi.json">/api</a>, and the protocols.</p>
<p>To build it with the page, run <code>npm ci &amp;&amp; npm run build</code> in <code>web/</code> and then <code>go build ./cmd/parley</code>.</p>
</body>
</html>
`
