"""What every input has in common."""

from __future__ import annotations

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from nrem.wire.fields import (
    AgentName,
)


class Input(BaseModel):
    """What an operation takes: exact types, no unknown fields."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, populate_by_name=True, str_max_length=16 << 20
    )


class AgentRef(Input):
    agent: AgentName = Field(
        validation_alias=AliasChoices("agent", "agent_id", "agentId"), description="The agent's name."
    )
