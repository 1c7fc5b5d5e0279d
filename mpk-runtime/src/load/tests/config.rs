//! Both spellings of `config.json`, and the ids that begin and end a text.

use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{fixture, message};
use crate::load::{Config, LoadError};

/// Does something with a config; an error becomes its text, without the folder.
fn with<T>(config: &str, f: impl FnOnce(Config) -> Result<T, LoadError>) -> Result<T, String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("config.json"), config).unwrap();
    Config::read(dir.path()).and_then(f).map_err(|error| message(&error, dir.path()))
}

/// The fields that are read of a config.
fn read(config: &str) -> Result<Value, String> {
    with(config, |config| config.deserialize())
}

#[test]
fn both_spellings_become_one() {
    let llama3 = json!({ "factor": 8.0, "rope_type": "llama3" });
    let cases = [
        // The hub's older form.
        (json!({ "rope_theta": 5e5, "rope_scaling": null }), 5e5, Value::Null),
        (json!({ "rope_theta": 500000 }), 5e5, Value::Null),
        (json!({ "rope_theta": 5e5, "rope_scaling": llama3 }), 5e5, llama3.clone()),
        (json!({ "rope_theta": 5e5, "rope_scaling": { "type": "llama3", "factor": 8.0 } }), 5e5, llama3.clone()),
        (json!({ "rope_theta": 5e5, "rope_scaling": { "type": "x", "rope_type": "default" } }), 5e5, Value::Null),
        (json!({}), 1e4, Value::Null),
        // transformers 5.
        (json!({ "rope_parameters": { "rope_theta": 5e5, "rope_type": "default" } }), 5e5, Value::Null),
        (json!({ "rope_parameters": { "rope_theta": 5e5, "rope_type": "llama3", "factor": 8.0 } }), 5e5, llama3.clone()),
        (json!({ "rope_parameters": { "rope_theta": 5e5 }, "rope_theta": 500000 }), 5e5, Value::Null),
    ];
    for (config, theta, scaling) in cases {
        let read = read(&config.to_string()).unwrap();
        assert_eq!(read["rope_theta"].as_f64(), Some(theta), "{config}");
        assert_eq!(read["rope_scaling"], scaling, "{config}");
        assert!(read.get("rope_parameters").is_none());
    }
    for config in [json!({ "torch_dtype": "bfloat16" }), json!({ "dtype": "bfloat16" })] {
        let read = read(&config.to_string()).unwrap();
        assert_eq!((&read["dtype"], read.get("torch_dtype")), (&json!("bfloat16"), None));
    }
    let partial = r#"{"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}}"#;
    assert_eq!(read(partial).unwrap()["partial_rotary_factor"], json!(0.5));
}

#[test]
fn wrong_configs_name_the_field() {
    let cases = [
        ("[]", "text: is not a JSON object"),
        ("{", "text: is not JSON: EOF while parsing an object at line 1 column 1"),
        (r#"{"rope_theta": "x"}"#, "rope_theta: \"x\" is not a number above 0"),
        (r#"{"rope_theta": 0}"#, "rope_theta: 0 is not a number above 0"),
        (r#"{"rope_scaling": 3}"#, "rope_scaling: 3 is not an object"),
        (r#"{"rope_scaling": {"factor": 3}}"#, "rope_scaling.rope_type: missing"),
        (r#"{"rope_scaling": {"type": 3}}"#, "rope_scaling.rope_type: 3 is not a name"),
        (
            r#"{"rope_parameters": {"rope_theta": 2}, "rope_theta": 3}"#,
            "rope_parameters.rope_theta: 2 contradicts rope_theta, which is 3",
        ),
        (
            r#"{"rope_parameters": {"full_attention": {"rope_theta": 2}}}"#,
            "rope_parameters.full_attention: a rope for each kind of layer is not supported",
        ),
    ];
    for (config, expected) in cases {
        let error = read(config).unwrap_err();
        assert_eq!(error.lines().next(), Some(&*format!("MPK-L0304: config.json: {expected}")));
    }
}

#[test]
fn a_config_becomes_the_struct_of_its_model() {
    #[derive(Debug, Deserialize)]
    struct Model {
        hidden_size: usize,
        rms_norm_eps: f32,
        rope_scaling: Option<Scaling>,
    }
    #[derive(Debug, Deserialize)]
    struct Scaling {
        rope_type: String,
        factor: f32,
    }
    let config: Model = Config::read(&fixture("tiny-llama")).unwrap().deserialize().unwrap();
    let scaling = config.rope_scaling.unwrap();
    assert_eq!((config.hidden_size, config.rms_norm_eps), (192, 1e-5));
    assert_eq!((scaling.rope_type.as_str(), scaling.factor), ("llama3", 8.0));
    let config: Model = Config::read(&fixture("tiny-qwen3").join("config.json")).unwrap().deserialize().unwrap();
    assert!(config.rope_scaling.is_none());

    let cases = [
        (json!({ "rms_norm_eps": 1 }), "hidden_size: missing"),
        (json!({ "hidden_size": "big", "rms_norm_eps": 1 }), "hidden_size: invalid type: string \"big\", expected usize"),
        (json!({ "hidden_size": 1, "rms_norm_eps": 1, "rope_scaling": { "rope_type": "x" } }), "rope_scaling.factor: missing"),
    ];
    for (config, expected) in cases {
        let error = with(&config.to_string(), |config| config.deserialize::<Model>()).unwrap_err();
        assert_eq!(error.lines().next(), Some(&*format!("MPK-L0304: config.json: {expected}")));
    }
}

#[test]
fn what_a_model_says_of_its_config_is_kept() {
    #[derive(Debug, Deserialize)]
    #[serde(try_from = "Fields")]
    struct Even;
    #[derive(Deserialize)]
    struct Fields {
        heads: usize,
    }
    impl TryFrom<Fields> for Even {
        type Error = String;

        fn try_from(fields: Fields) -> Result<Self, String> {
            (fields.heads == 2).then_some(Self).ok_or_else(|| "`heads` is odd".to_owned())
        }
    }
    let even = |heads: &Value| with(&json!({ "heads": heads }).to_string(), |config| config.deserialize::<Even>());
    even(&json!(2)).unwrap();
    for (heads, expected) in [(json!(3), "fields: `heads` is odd"), (json!({}), "heads: invalid type: map, expected usize")] {
        let error = even(&heads).unwrap_err();
        assert_eq!(error.lines().next(), Some(&*format!("MPK-L0304: config.json: {expected}")));
    }
}

#[test]
fn architectures_are_looked_up_among_the_known() {
    let known = [("LlamaForCausalLM", 1), ("Qwen3ForCausalLM", 3)];
    let architecture = |config: &str| with(config, |config| config.architecture(&known));
    assert_eq!(architecture(r#"{"architectures": ["Qwen3ForCausalLM"]}"#).unwrap(), 3);
    let help = "\nhelp: known are LlamaForCausalLM, Qwen3ForCausalLM; another one needs its own model! description";
    let error = architecture(r#"{"architectures": ["Other"]}"#).unwrap_err();
    assert_eq!(error, format!("config.json: architectures[0]: architecture Other is not known{help}"));
    let error = architecture("{}").unwrap_err();
    assert_eq!(error, format!("config.json: architectures[0]: no architecture is named{help}"));
}

#[test]
fn end_ids_come_from_the_generation_config_first() {
    let config = Config::read(&fixture("tiny-qwen3")).unwrap();
    assert_eq!(config.end_ids().unwrap(), [2298, 2296]);
    assert_eq!(config.begin_id().unwrap(), Some(2296));

    let dir = tempfile::tempdir().unwrap();
    let read = |config: Value| {
        fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
        Config::read(dir.path()).unwrap()
    };
    assert!(read(json!({})).end_ids().unwrap().is_empty());
    let config = read(json!({ "eos_token_id": 7, "bos_token_id": null }));
    assert_eq!(config.end_ids().unwrap(), [7]);
    assert_eq!(config.begin_id().unwrap(), None);
    fs::write(dir.path().join("generation_config.json"), r#"{"eos_token_id": null}"#).unwrap();
    assert_eq!(config.end_ids().unwrap(), [7]);
    for wrong in ["-1", "4294967296", "\"7\"", "[1, null]"] {
        let text = format!("{{\"eos_token_id\": {wrong}}}");
        fs::write(dir.path().join("generation_config.json"), text).unwrap();
        let error = message(&config.end_ids().unwrap_err(), dir.path());
        let expected = "MPK-L0304: generation_config.json: eos_token_id: ";
        assert!(error.starts_with(expected), "{error}");
    }
}
