"""AdmissionReviews in and out: the envelope, the decision's way to the store, and the answer."""

from app.admission.handler import AdmissionHandler, ReviewObserver
from app.admission.record import Record
from app.admission.review import BadReview, Review, parse_review

__all__ = ["AdmissionHandler", "BadReview", "Record", "Review", "ReviewObserver", "parse_review"]
