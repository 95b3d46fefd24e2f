//! What JSON looks like from outside: a request, a list of them, or neither.

use std::fmt;

use rmcp::model::ErrorCode;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::lines::is_number;

/// Of a list of requests, so many are refused one by one.
const MOST_OF_A_LIST: usize = 256;

/// JSON that can be read, every part of it looked at.
pub(super) enum Shape {
    Message(Envelope),
    List(Vec<Envelope>),
    Other,
}

/// Why something is no request.
pub(super) struct Fault {
    pub(super) why: &'static str,
    pub(super) code: ErrorCode,
}

/// What is around a message.
#[derive(Default)]
pub(super) struct Envelope {
    number: Option<Value>,
    has_version: bool,
    has_method: bool,
    params: Option<Anything>,
    role: Role,
}

#[derive(Default, PartialEq, Eq)]
enum Role {
    #[default]
    Asks,
    Answers,
}

impl Shape {
    /// What is no request by its shape but says which one it is: the numbers, and why.
    pub(super) fn refused(self) -> Vec<(Value, Fault)> {
        match self {
            Self::Message(message) => {
                let fault = message.fault();
                message.number.zip(fault).into_iter().collect()
            }
            Self::List(messages) => {
                let why = "this protocol has no lists of requests; send each on a line of its own";
                let fault = || Fault { why, code: ErrorCode::INVALID_REQUEST };
                messages.into_iter().filter_map(|message| Some((message.number?, fault()))).collect()
            }
            Self::Other => Vec::new(),
        }
    }
}

impl Envelope {
    fn fault(&self) -> Option<Fault> {
        let request = |why| Some(Fault { why, code: ErrorCode::INVALID_REQUEST });
        let params = |why| Some(Fault { why, code: ErrorCode::INVALID_PARAMS });
        if self.role == Role::Answers {
            return None;
        }
        if !self.has_version {
            return request("this is no request of JSON-RPC 2.0; send `\"jsonrpc\": \"2.0\"` with it");
        }
        if !self.has_method {
            return request("the request does not say what it asks for; send a `method`, such as `tools/call`");
        }
        match self.params {
            None | Some(Anything::Null | Anything::Object) => None,
            Some(Anything::BadMeta) => params("`_meta` of a request has to be an object"),
            Some(Anything::Meta | Anything::Other) => {
                params("the `params` of a request have to be an object, such as `{\"name\": \"run_code\"}`")
            }
        }
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Around)
    }
}

struct Around;

impl<'de> Visitor<'de> for Around {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Shape>()? {
            if let Shape::Message(message) = item
                && list.len() < MOST_OF_A_LIST
                && message.number.is_some()
                && message.role == Role::Asks
            {
                list.push(message);
            }
        }
        Ok(Shape::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut message = Envelope::default();
        while let Some(name) = map.next_key::<String>()? {
            match &*name {
                "id" => message.number = Some(map.next_value()?).filter(is_number),
                "jsonrpc" => message.has_version = map.next_value::<Value>()? == "2.0",
                "method" => message.has_method = map.next_value::<Value>()?.is_string(),
                "result" | "error" => {
                    map.next_value::<Anything>()?;
                    message.role = Role::Answers;
                }
                "params" => message.params = Some(map.next_value()?),
                _ => drop(map.next_value::<Anything>()?),
            }
        }
        Ok(Shape::Message(message))
    }
}

/// Any JSON, every part of it looked at, and what it is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anything {
    Null,
    Object,
    /// An object whose `_meta` is none.
    BadMeta,
    /// The text `_meta`.
    Meta,
    Other,
}

impl<'de> Deserialize<'de> for Anything {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Looking)
    }
}

struct Looking;

impl<'de> Visitor<'de> for Looking {
    type Value = Anything;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Anything, E> {
        Ok(Anything::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Anything, E> {
        Ok(Anything::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Anything, E> {
        Ok(Anything::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Anything, E> {
        Ok(Anything::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Anything, E> {
        Ok(Anything::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<Anything, E> {
        Ok(if text == "_meta" { Anything::Meta } else { Anything::Other })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Anything, A::Error> {
        while items.next_element::<Anything>()?.is_some() {}
        Ok(Anything::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Anything, A::Error> {
        let mut object = Anything::Object;
        while let Some((name, value)) = map.next_entry::<Anything, Anything>()? {
            let is_object = matches!(value, Anything::Null | Anything::Object | Anything::BadMeta);
            if name == Anything::Meta && !is_object {
                object = Anything::BadMeta;
            }
        }
        Ok(object)
    }
}
