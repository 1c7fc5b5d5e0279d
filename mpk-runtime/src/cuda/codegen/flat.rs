//! A source and its headers as one text, to be read or compiled by hand.

use super::Source;

impl Source {
    /// The source with every header where it is first included. Lines keep their names, so that errors still point at the file
    /// that they are in.
    pub fn flat(&self) -> String {
        let mut flat = Flat { headers: &self.headers, seen: Vec::new(), out: String::new() };
        flat.add("mpk.cu", &self.text);
        flat.out
    }
}

struct Flat<'a> {
    headers: &'a [(String, String)],
    seen: Vec<&'a str>,
    out: String,
}

impl<'a> Flat<'a> {
    fn add(&mut self, name: &str, text: &'a str) {
        for (at, line) in text.lines().enumerate() {
            let included = line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"'));
            match included.and_then(|name| self.headers.iter().find(|(header, _)| header == name)) {
                Some((header, inner)) => {
                    // A header that is not added again leaves its line empty, so that the lines after it keep their numbers.
                    if self.seen.contains(&header.as_str()) {
                        self.out.push('\n');
                        continue;
                    }
                    self.seen.push(header);
                    self.out.push_str(&format!("#line 1 \"{header}\"\n"));
                    self.add(header, inner);
                    self.out.push_str(&format!("#line {} \"{name}\"\n", at + 2));
                }
                // What is in the text once needs no guard, and compilers warn of one.
                None if line == "#pragma once" => self.out.push('\n'),
                None => {
                    self.out.push_str(line);
                    self.out.push('\n');
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_stand_where_they_are_first_included() {
        let header = |name: &str, text: &str| (name.to_string(), text.to_string());
        let headers = [header("a", "#pragma once\nint a;\n"), header("b", "#include \"a\"\nint b;\n")];
        let mut flat = Flat { headers: &headers, seen: Vec::new(), out: String::new() };
        flat.add("c", "#include \"a\"\n#include \"b\"\nint c;\n");
        let expected = "#line 1 \"a\"\n\nint a;\n#line 2 \"c\"\n#line 1 \"b\"\n\nint b;\n#line 3 \"c\"\nint c;\n";
        assert_eq!(flat.out, expected);
    }
}
