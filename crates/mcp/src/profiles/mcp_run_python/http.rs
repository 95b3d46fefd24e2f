//! What the original says over HTTP where no tool is called.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode};
use serde_json::json;

use crate::http::{Asked, HttpSessions, NoSession, refuse};

/// In the original's words. Answers in the protocol's own terms, about an unknown version or method, are just as exact.
pub(super) fn reworded(asked: &Asked, answer: &Response) -> Option<Response> {
    let (status, is_delete) = (answer.status(), asked.method == Method::DELETE && asked.path == "/mcp");
    let plain = |status: StatusCode, text: &'static str| Some((status, text).into_response());
    if answer.extensions().get::<NoSession>().is_some() {
        return match asked.method {
            Method::POST => Some(refuse(StatusCode::BAD_REQUEST, "Bad Request: No valid session ID provided")),
            _ => plain(StatusCode::BAD_REQUEST, "Invalid or missing session ID"),
        };
    }
    match (status, asked.sessions) {
        (StatusCode::NO_CONTENT, HttpSessions::Kept) | (StatusCode::METHOD_NOT_ALLOWED, HttpSessions::None)
            if is_delete =>
        {
            Some(StatusCode::OK.into_response())
        }
        (StatusCode::METHOD_NOT_ALLOWED, HttpSessions::Kept) => plain(status, "Method not allowed"),
        (StatusCode::METHOD_NOT_ALLOWED, HttpSessions::None) => Some(refuse(status, "Method not allowed.")),
        (StatusCode::NOT_FOUND, _) if asked.path != "/mcp" => plain(status, "Page not found"),
        (StatusCode::INTERNAL_SERVER_ERROR, _) => {
            let error = json!({"code": -32603, "message": "Internal server error"});
            Some((status, Json(json!({"jsonrpc": "2.0", "error": error, "id": null}))).into_response())
        }
        _ => None,
    }
}
