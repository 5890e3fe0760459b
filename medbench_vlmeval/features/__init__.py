"""Images in, features out: the networks whose features `metrics` compares sets of images by.

Nothing here downloads anything. A network's weights come from a file that the user names, from
where an installed library keeps what it has fetched, or from a package that ships them.
"""

from __future__ import annotations

from .extracting import ExtractedFeatures, FeatureCache, extracted_features
from .extractor import FeatureExtractor, FeatureFunction, frechet_name, identity_of, kernel_name
from .named import EXTRACTORS, extractor_named
from .resizing import clean_resize
from .weights import WeightsUnusable, read_weights

__all__ = [
    "EXTRACTORS",
    "ExtractedFeatures",
    "FeatureCache",
    "FeatureExtractor",
    "FeatureFunction",
    "WeightsUnusable",
    "clean_resize",
    "extracted_features",
    "extractor_named",
    "frechet_name",
    "identity_of",
    "kernel_name",
    "read_weights",
]
