//! `config.json` and `generation_config.json`, whichever version of transformers wrote them.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::LoadError;
use super::index::read_text;

/// The longest config that is read, in bytes.
const LONGEST_CONFIG: u64 = 10_000_000;

/// The file name in a checkpoint.
const CONFIG: &str = "config.json";

/// Help for a choice that the model's code does not have.
const UNSUPPORTED: &str =
    "the model runs only with these: use a checkpoint with one of them, or add the other to the model's code";

/// The base of the rotary embedding where a config names none, as in transformers.
const DEFAULT_ROPE_THETA: f64 = 10_000.0;

/// A `config.json` in one spelling, and where it was read.
///
/// The hub's older form (`rope_theta`, `rope_scaling` with `type` or `rope_type`, `torch_dtype`) and that of
/// transformers 5 (`rope_parameters`, `dtype`) both become: `rope_theta`, a number; `rope_scaling`, null or an object
/// with `rope_type`; and `dtype`, where given. All other fields stay as they are.
#[derive(Clone, Debug)]
pub struct Config {
    path: PathBuf,
    fields: Map<String, Value>,
}

impl Config {
    /// Reads the file `path`, or `config.json` in the folder `path`.
    ///
    /// # Errors
    /// [`LoadError::Read`], or [`LoadError::Malformed`] (MPK-L0304) naming the field.
    pub fn read(path: &Path) -> Result<Config, LoadError> {
        let path = if path.is_dir() { path.join(CONFIG) } else { path.to_owned() };
        let mut fields = read_object(&path)?;
        normalise_rope(&mut fields).map_err(|(field, what)| LoadError::field(&path, field, what))?;
        if let Some(dtype) = fields.shift_remove("torch_dtype") {
            fields.entry("dtype").or_insert(dtype);
        }
        Ok(Config { path, fields })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A field, if the file has it.
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.fields.get(field)
    }

    /// Changes a field, as a program does that asks for something else than the file says.
    pub fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.fields.insert(field.to_owned(), value.into());
    }

    /// Turns it into the struct of its model.
    ///
    /// # Errors
    /// [`LoadError::Malformed`] (MPK-L0304) naming the field that is missing or has the wrong type; a message of the struct's own
    /// may bring its help after `\nhelp: `.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, LoadError> {
        serde_path_to_error::deserialize(Value::Object(self.fields.clone())).map_err(|error| {
            let path = error.path().to_string();
            let what = error.into_inner().to_string();
            // A missing field has no path of its own; serde's message names it.
            let missing = what.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
            let (field, what) = match missing {
                Some(name) if path == "." => (name.to_owned(), "missing".to_owned()),
                Some(name) => (format!("{path}.{name}"), "missing".to_owned()),
                None if path == "." => ("fields".to_owned(), what),
                None => (path, what),
            };
            match what.split_once("\nhelp: ") {
                Some((what, help)) => LoadError::field_with_help(&self.path, field, what, help.to_owned()),
                None if what.starts_with("unknown variant") => LoadError::field_with_help(&self.path, field, what, UNSUPPORTED),
                None => LoadError::field(&self.path, field, what),
            }
        })
    }

    /// What `known` has for the architecture that it names first.
    ///
    /// # Errors
    /// [`LoadError::Architecture`], which lists the known ones.
    pub fn architecture<T: Copy>(&self, known: &[(&str, T)]) -> Result<T, LoadError> {
        let found = self.get("architectures").and_then(|list| list.get(0)).and_then(Value::as_str);
        known.iter().find(|(name, _)| Some(*name) == found).map(|(_, value)| *value).ok_or_else(|| LoadError::Architecture {
            path: self.path.clone(),
            found: found.map(str::to_owned),
            known: known.iter().map(|(name, _)| (*name).to_owned()).collect(),
        })
    }

    /// The ids that end a text: `eos_token_id` of `generation_config.json` beside it if that has one, else its own; empty if
    /// neither has.
    ///
    /// # Errors
    /// [`LoadError::Read`], or [`LoadError::Malformed`] (MPK-L0304) for a value that is no id or list of ids.
    pub fn end_ids(&self) -> Result<Vec<u32>, LoadError> {
        self.token_ids("eos_token_id")
    }

    /// The id that begins a text, looked up as [`Config::end_ids`] is; the first of a list.
    ///
    /// # Errors
    /// As [`Config::end_ids`].
    pub fn begin_id(&self) -> Result<Option<u32>, LoadError> {
        Ok(self.token_ids("bos_token_id")?.first().copied())
    }

    fn token_ids(&self, field: &str) -> Result<Vec<u32>, LoadError> {
        let path = self.path.with_file_name("generation_config.json");
        if path.exists() {
            let generation = read_object(&path)?;
            if let Some(value) = generation.get(field).filter(|value| !value.is_null()) {
                return read_ids(value).ok_or_else(|| not_ids(&path, field, value));
            }
        }
        match self.get(field).filter(|value| !value.is_null()) {
            Some(value) => read_ids(value).ok_or_else(|| not_ids(&self.path, field, value)),
            None => Ok(Vec::new()),
        }
    }
}

fn read_ids(value: &Value) -> Option<Vec<u32>> {
    let one = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    match value {
        Value::Array(list) => list.iter().map(one).collect(),
        single => Some(vec![one(single)?]),
    }
}

fn not_ids(path: &Path, field: &str, value: &Value) -> LoadError {
    LoadError::field(path, field, format!("{} is neither a token id nor a list of them", brief(value)))
}

pub(crate) fn read_object(path: &Path) -> Result<Map<String, Value>, LoadError> {
    let text = read_text(path, LONGEST_CONFIG)?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(LoadError::field(path, "text", "is not a JSON object")),
        Err(error) => Err(LoadError::field(path, "text", format!("is not JSON: {error}"))),
    }
}

/// Leaves exactly `rope_theta` and `rope_scaling`. An error is `(field, what)`.
fn normalise_rope(fields: &mut Map<String, Value>) -> Result<(), (String, String)> {
    let older = take_object(fields, "rope_scaling")?;
    let newer = take_object(fields, "rope_parameters")?;
    let field = if newer.is_some() { "rope_parameters" } else { "rope_scaling" };
    let mut scaling = newer.or(older).unwrap_or_default();
    let wrong = |name: &str, what: String| Err((format!("{field}.{name}"), what));

    // Models with one rope for each kind of layer nest these objects.
    if let Some((name, _)) = scaling.iter().find(|(_, value)| value.is_object()) {
        return wrong(name, "a rope for each kind of layer is not supported".to_owned());
    }
    // Both spellings may stand in one file; they must agree.
    if let Some(theta) = scaling.shift_remove("rope_theta") {
        match fields.get("rope_theta") {
            Some(other) if !other.is_null() && other.as_f64() != theta.as_f64() => {
                let what = format!("{} contradicts rope_theta, which is {}", brief(&theta), brief(other));
                return wrong("rope_theta", what);
            }
            _ => fields.insert("rope_theta".to_owned(), theta),
        };
    }
    let theta = fields.get("rope_theta").filter(|theta| !theta.is_null());
    match theta.map(|theta| theta.as_f64().ok_or(theta)) {
        None => {
            fields.insert("rope_theta".to_owned(), DEFAULT_ROPE_THETA.into());
        }
        Some(Ok(number)) if number > 0.0 => {}
        Some(_) => {
            let what = format!("{} is not a number above 0", theta.map(brief).unwrap_or_default());
            return Err(("rope_theta".to_owned(), what));
        }
    }
    // It belongs to the model and not to the scaling, and would be lost with a default rope.
    if let Some(factor) = scaling.shift_remove("partial_rotary_factor") {
        fields.insert("partial_rotary_factor".to_owned(), factor);
    }
    let older_name = scaling.shift_remove("type");
    let kind = scaling.shift_remove("rope_type").or(older_name);
    let scaling = match kind {
        None if scaling.is_empty() => Value::Null,
        Some(Value::String(kind)) if kind == "default" => Value::Null,
        Some(Value::String(kind)) => {
            scaling.insert("rope_type".to_owned(), Value::String(kind));
            Value::Object(scaling)
        }
        Some(other) => return wrong("rope_type", format!("{} is not a name", brief(&other))),
        None => return wrong("rope_type", "missing".to_owned()),
    };
    fields.insert("rope_scaling".to_owned(), scaling);
    Ok(())
}

fn take_object(fields: &mut Map<String, Value>, name: &str) -> Result<Option<Map<String, Value>>, (String, String)> {
    match fields.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(other) => Err((name.to_owned(), format!("{} is not an object", brief(&other)))),
    }
}

/// A value for a message, cut if it is long.
fn brief(value: &Value) -> String {
    super::listing::shown(&value.to_string())
}
