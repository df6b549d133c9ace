"""What every table of a spec file has in common."""

from pydantic import BaseModel, ConfigDict


class SpecTable(BaseModel):
    """A TOML table: no fields but these, no values turned from one type into another."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
