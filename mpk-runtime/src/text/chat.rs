//! Chat templates: the Jinja that transformers runs, with the functions that it offers them.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use minijinja::value::Kwargs;
use minijinja::{Environment, ErrorKind, Value, context};
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use super::date;
use super::error::TextError;
use crate::load::LoadError;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it: `system`, `user` or `assistant`.
    pub role: String,
    /// What is said.
    pub content: String,
}

impl Message {
    /// A message of `role` that says `content`.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: content.into() }
    }
}

/// A parsed chat template with the tokens that it may write.
#[derive(Debug)]
pub(super) struct ChatTemplate {
    dir: PathBuf,
    environment: Environment<'static>,
    /// `bos_token`, `eos_token` and so on; one that the tokenizer has not is undefined and prints nothing.
    tokens: Vec<(&'static str, String)>,
}

/// The special tokens that templates may name.
const TOKENS: [&str; 4] = ["bos_token", "eos_token", "pad_token", "unk_token"];

/// The name of the template within its environment; it shows in error messages.
const NAME: &str = "chat_template";

/// Where the template or the tokens come from.
const CONFIG: &str = "tokenizer_config.json";

/// The longest template or config that is read, in bytes.
const LONGEST: u64 = 10_000_000;

/// Instructions that a template may take, far above what a long conversation needs: one that loops has an end.
const MOST_INSTRUCTIONS: u64 = 5_000_000;

/// Spaces that `tojson(indent=…)` may ask for.
const MOST_INDENT: usize = 64;

impl ChatTemplate {
    /// Reads the template of the folder `dir`.
    pub fn open(dir: &Path) -> Result<Self, TextError> {
        let config_path = dir.join(CONFIG);
        let config = if config_path.exists() { crate::load::read_object(&config_path)? } else { serde_json::Map::new() };
        let file = dir.join("chat_template.jinja");
        let source = if file.exists() {
            crate::load::read_text(&file, LONGEST)?
        } else {
            match config.get("chat_template") {
                None | Some(serde_json::Value::Null) => return Err(no_template(dir, Vec::new())),
                Some(value) => pick(dir, &config_path, value)?,
            }
        };
        let mut environment = environment();
        environment.add_template_owned(NAME, source).map_err(|error| failed(dir, &error))?;
        let tokens = TOKENS.into_iter().filter_map(|name| Some((name, token_text(config.get(name)?)?))).collect();
        Ok(Self { dir: dir.to_owned(), environment, tokens })
    }

    /// Renders `messages` and the opening of the answer.
    pub fn render(&self, messages: &[Message]) -> Result<String, TextError> {
        let tokens: Value = self.tokens.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let variables = context! { messages, add_generation_prompt => true, ..tokens };
        let template = self.environment.get_template(NAME).map_err(|error| failed(&self.dir, &error))?;
        template.render(variables).map_err(|error| failed(&self.dir, &error))
    }
}

/// The default template of a config: a string, or a list of named ones.
fn pick(dir: &Path, path: &Path, value: &serde_json::Value) -> Result<String, TextError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Templates {
        One(String),
        Named(Vec<Named>),
    }
    #[derive(Deserialize)]
    struct Named {
        name: String,
        template: String,
    }
    match Templates::deserialize(value) {
        Ok(Templates::One(source)) => Ok(source),
        Ok(Templates::Named(mut list)) => match list.iter().position(|one| one.name == "default") {
            Some(at) => Ok(list.swap_remove(at).template),
            None => {
                let names = list.into_iter().map(|one| one.name).collect();
                Err(no_template(dir, names))
            }
        },
        Err(_) => {
            let what = "neither a template nor a list of {name, template}";
            Err(LoadError::field(path, "chat_template", what).into())
        }
    }
}

/// A special token is a string, or an object that holds it with its options.
fn token_text(value: &serde_json::Value) -> Option<String> {
    value.as_str().or_else(|| value.get("content")?.as_str()).map(str::to_owned)
}

/// Jinja as transformers sets it up for chat templates.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(MOST_INSTRUCTIONS));
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function("raise_exception", |message: String| {
        Err::<Value, _>(minijinja::Error::new(ErrorKind::InvalidOperation, message))
    });
    environment.add_function("strftime_now", |format: String| {
        date::format(&format, SystemTime::now()).map_err(|what| minijinja::Error::new(ErrorKind::InvalidOperation, what))
    });
    environment.add_filter("tojson", tojson);
    environment
}

/// `tojson` as in transformers: spaced like Python's, with nothing escaped for HTML.
fn tojson(value: Value, options: Kwargs) -> Result<Value, minijinja::Error> {
    let indent: Option<usize> = options.get("indent")?;
    let ascii: Option<bool> = options.get("ensure_ascii")?;
    options.assert_all_used()?;
    if ascii == Some(true) {
        let what = "tojson with ensure_ascii is not supported";
        return Err(minijinja::Error::new(ErrorKind::InvalidOperation, what));
    }
    if let Some(indent) = indent.filter(|indent| *indent > MOST_INDENT) {
        let what = format!("tojson with an indent of {indent}: {MOST_INDENT} is the most");
        return Err(minijinja::Error::new(ErrorKind::InvalidOperation, what));
    }
    let mut json = Vec::new();
    let written = match indent {
        Some(indent) => {
            let spaces = " ".repeat(indent);
            let formatter = PrettyFormatter::with_indent(spaces.as_bytes());
            value.serialize(&mut Serializer::with_formatter(&mut json, formatter))
        }
        None => value.serialize(&mut Serializer::with_formatter(&mut json, Spaced)),
    };
    let invalid = |error: &dyn std::fmt::Display| minijinja::Error::new(ErrorKind::InvalidOperation, format!("tojson: {error}"));
    written.map_err(|error| invalid(&error))?;
    let json = String::from_utf8(json).map_err(|error| invalid(&error))?;
    Ok(Value::from_safe_string(json))
}

/// JSON on one line with a space after each comma and colon.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, out: &mut W, first: bool) -> std::io::Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, out: &mut W, first: bool) -> std::io::Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, out: &mut W) -> std::io::Result<()> {
        out.write_all(b": ")
    }
}

fn no_template(dir: &Path, names: Vec<String>) -> TextError {
    TextError::NoTemplate { dir: dir.to_owned(), names }
}

fn failed(dir: &Path, error: &minijinja::Error) -> TextError {
    TextError::Template { dir: dir.to_owned(), reason: error.to_string() }
}
