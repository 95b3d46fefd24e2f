"""An agent of LangChain runs code through belljar, with a model that follows a script."""

import os
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from script import ANSWER, BELLJAR, CALLS, MISTAKE, QUESTION

pytestmark = pytest.mark.anyio


class Scripted(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_options: Any) -> "Scripted":
        assert "run_code" in [tool.name for tool in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *_args: Any, **_options: Any) -> ChatResult:
        answers = [message for message in messages if isinstance(message, ToolMessage)]
        if len(answers) < len(CALLS):
            call = {"name": "run_code", "args": CALLS[len(answers)], "id": str(len(answers)), "type": "tool_call"}
            said = AIMessage("", tool_calls=[call])
        else:
            assert [answer.status for answer in answers] == ["success", "error", "success"]
            assert MISTAKE in answers[1].text
            said = AIMessage(f"It is {answers[2].artifact['structured_content']['result']}.")
        return ChatResult(generations=[ChatGeneration(message=said)])


async def test_as_tools() -> None:
    server = {"transport": "stdio", "command": BELLJAR, "args": ["serve"], "env": dict(os.environ)}
    client = MultiServerMCPClient({"belljar": server})
    # One server for all calls. Otherwise each call has its own, and sessions end with it.
    async with client.session("belljar") as session:
        agent = create_agent(Scripted(), await load_mcp_tools(session))
        said = await agent.ainvoke({"messages": [("user", QUESTION)]})
        assert said["messages"][-1].text == ANSWER
