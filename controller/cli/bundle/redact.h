// What is taken out of a bundle before it leaves the house.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace railgauge::cli {

// Names and addresses become numbered words ("node-3"), the same one at every place and however
// letters are written, also inside of a word ("gpu001-ib0"); a node's name is known without its
// domain as well. What is not learnt and does not look like an address stays: text that people
// wrote has to be read before it is sent.
class Redactor {
 public:
  // `name` is one of `kind`: from now on it is "kind-N".
  void learn(std::string_view kind, std::string_view name);
  std::string apply(std::string_view text);

 private:
  [[nodiscard]] std::string without_phrases(std::string_view text) const;
  std::string word_for(std::string_view token);
  std::string parts_for(std::string_view token);
  std::string piece_for(std::string_view piece);
  [[nodiscard]] std::string inside_of(std::string_view piece) const;
  const std::string& number(std::string_view kind, std::string_view name);
  [[nodiscard]] const std::string* find(std::string_view name) const;

  std::map<std::string, std::string, std::less<>> words_;    // by what they replace, in lower case
  std::map<std::string, std::string, std::less<>> phrases_;  // of them those that are no tokens
  std::map<std::string, int, std::less<>> counts_;           // by kind
};

// Without private keys in PEM, and without the values of what is called a password, token, secret,
// credential, key for access or the like, however it is written: NAME=value, "name": "value" (also
// inside of a JSON text in JSON), --name value, name: value, "Authorization: ...", "Bearer ...",
// and the user's part of a URL. What is called otherwise stays: texts have to be read.
std::string without_secrets(std::string_view text);

}  // namespace railgauge::cli
