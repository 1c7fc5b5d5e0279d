//! A header that can't be read.

mpk_runtime::model! {
    pub modle Tiny(cfg: Config) {}
}

fn main() {}
