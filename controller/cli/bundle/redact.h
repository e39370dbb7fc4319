// Removes names and secrets from a support bundle before it leaves the site. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace railgauge::cli {

// Replaces names and addresses by numbered words ("node-3"). A name has the same word everywhere,
// in upper and lower case, also inside another word ("gpu001-ib0"). A node's name also matches
// without its domain. Text that is neither learnt nor like an address is kept: people have to read
// a bundle before they send it. Not thread safe.
class Redactor {
 public:
  // Adds a name of one kind ("node", "person", "leaf", "address", "id"). From now on it becomes
  // "kind-N". Learn all names before the first apply().
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

// Returns the text without private keys in PEM and without the values of passwords, tokens,
// secrets, credentials and access keys. Recognised forms: NAME=value, "name": "value" (also in JSON
// inside of JSON), --name value, name: value, "Authorization: ...", "Bearer ...", and the user's
// part of a URL. It applies to every bundle, redacted or not. Secrets under other names stay:
// people have to read a bundle before they send it.
std::string without_secrets(std::string_view text);

}  // namespace railgauge::cli
