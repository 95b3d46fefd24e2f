"""Agents of Pydantic AI run code through belljar, with a model that follows a script."""

import os
from typing import Any

import pytest
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.function import AgentInfo, FunctionModel
from script import ANSWER, BELLJAR, CALLS, MISTAKE, QUESTION

from belljar import Belljar

pytestmark = pytest.mark.anyio


async def test_as_a_toolset() -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert "run_code" in [tool.name for tool in info.function_tools]
        parts = [part for message in messages for part in message.parts]
        answers = [part for part in parts if isinstance(part, ToolReturnPart)]
        if len(answers) < len(CALLS):
            return ModelResponse(parts=[ToolCallPart("run_code", CALLS[len(answers)])])
        assert [answer.outcome for answer in answers] == ["success", "retried", "success"]
        assert MISTAKE in str(answers[1].content)
        return ModelResponse(parts=[TextPart(f"It is {answers[2].content['result']}.")])

    toolset = MCPToolset(StdioTransport(BELLJAR, ["serve"], env=dict(os.environ)))
    agent = Agent(FunctionModel(model), toolsets=[toolset])
    async with agent:
        assert (await agent.run(QUESTION)).output == ANSWER


async def test_in_a_tool_of_the_agents_own() -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        [last] = messages[-1].parts
        if isinstance(last, ToolReturnPart):
            return ModelResponse(parts=[TextPart(f"It is {last.content}.")])
        code = "import statistics\nround(statistics.stdev([3, 5, 9]), 3)"
        return ModelResponse(parts=[ToolCallPart("compute", {"code": code})])

    async with Belljar() as sandbox:
        agent = Agent(FunctionModel(model))

        @agent.tool_plain
        async def compute(code: str) -> Any:
            """Runs Python code; the value of its last line is the answer."""
            return (await sandbox.session("agent").run(code, language="python")).check().result

        assert (await agent.run(QUESTION)).output == ANSWER
