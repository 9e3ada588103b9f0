"""The preview: what manifests become, by the very translation that the webhook uses; no cluster needed."""

from app.preview.documents import Source, read
from app.preview.errors import ManifestError
from app.preview.examine import preview
from app.preview.report import Item, Outcome, Preview

__all__ = ["Item", "ManifestError", "Outcome", "Preview", "Source", "preview", "read"]
