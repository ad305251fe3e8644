"""What every section of the config is: frozen, with no unknown keys and no silent conversions."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

FilePath = Annotated[Path, Field(strict=False)]
Positive = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(ge=0.0, lt=1.0)]


class Section(BaseModel):
    """A part of the configuration: frozen, with no unknown keys and no silent conversions ('3' is not 3)."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )
