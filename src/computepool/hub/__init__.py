"""The hub: a FastAPI shell around plain functions. `app.create_app(settings)` is the only wiring."""
