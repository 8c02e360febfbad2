"""A scripted Netlify API, made from Netlify's own description of it."""
