//! `config.json` and `generation_config.json`, whichever version of transformers wrote them.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::LoadError;
use super::index::read_text;

/// The longest config that is read, in bytes.
const LONGEST_CONFIG: u64 = 10_000_000;

/// The file name, for errors where only the parsed config is at hand.
const CONFIG: &str = "config.json";

/// The base of the rotary embedding where a config names none, as in transformers.
const DEFAULT_ROPE_THETA: f64 = 10_000.0;

/// Reads `config.json` in the folder `dir` into one spelling.
///
/// The hub's older form (`rope_theta`, `rope_scaling` with `type` or `rope_type`, `torch_dtype`) and that of
/// transformers 5 (`rope_parameters`, `dtype`) both become: `rope_theta`, a number; `rope_scaling`, null or an object
/// with `rope_type`; and `dtype`, where given. All other fields stay as they are.
///
/// # Errors
/// [`LoadError::Read`], or [`LoadError::Malformed`] (MPK-L0304) naming the field.
pub fn read_config(dir: &Path) -> Result<Value, LoadError> {
    let path = dir.join(CONFIG);
    let mut fields = read_object(&path)?;
    normalise_rope(&mut fields).map_err(|(field, what)| LoadError::field(&path, field, what))?;
    if let Some(dtype) = fields.shift_remove("torch_dtype") {
        fields.entry("dtype").or_insert(dtype);
    }
    Ok(Value::Object(fields))
}

/// Turns a config into the struct of its model.
///
/// # Errors
/// [`LoadError::Malformed`] (MPK-L0304) naming the field that is missing or has the wrong type.
pub fn deserialize<T: DeserializeOwned>(config: Value) -> Result<T, LoadError> {
    serde_path_to_error::deserialize(config).map_err(|error| {
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
        LoadError::field(Path::new(CONFIG), field, what)
    })
}

/// The architecture that `config` names first, if it is one of `known`.
///
/// # Errors
/// [`LoadError::Architecture`], which lists the known ones.
pub fn architecture<'a>(config: &Value, known: &[&'a str]) -> Result<&'a str, LoadError> {
    let found = config.get("architectures").and_then(|list| list.get(0)).and_then(Value::as_str);
    known.iter().copied().find(|&name| Some(name) == found).ok_or_else(|| LoadError::Architecture {
        path: CONFIG.into(),
        found: found.map(str::to_owned),
        known: known.iter().map(|&name| name.to_owned()).collect(),
    })
}

/// The ids that end a text: `eos_token_id` of `generation_config.json` if it has one, else of `config`; empty if
/// neither has.
///
/// # Errors
/// [`LoadError::Read`], or [`LoadError::Malformed`] (MPK-L0304) for a value that is no id or list of ids.
pub fn eos_ids(dir: &Path, config: &Value) -> Result<Vec<u32>, LoadError> {
    token_ids(dir, config, "eos_token_id")
}

/// The id that begins a text, looked up as [`eos_ids`] is; the first of a list.
///
/// # Errors
/// As [`eos_ids`].
pub fn bos_id(dir: &Path, config: &Value) -> Result<Option<u32>, LoadError> {
    Ok(token_ids(dir, config, "bos_token_id")?.first().copied())
}

fn token_ids(dir: &Path, config: &Value, field: &str) -> Result<Vec<u32>, LoadError> {
    let path = dir.join("generation_config.json");
    if path.exists() {
        let generation = read_object(&path)?;
        if let Some(value) = generation.get(field).filter(|value| !value.is_null()) {
            return read_ids(value).ok_or_else(|| not_ids(&path, field, value));
        }
    }
    match config.get(field).filter(|value| !value.is_null()) {
        Some(value) => read_ids(value).ok_or_else(|| not_ids(&dir.join(CONFIG), field, value)),
        None => Ok(Vec::new()),
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
