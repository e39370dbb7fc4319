// One fact of a node, or the reason for its absence. A fact that cannot be read never spoils its
// neighbours.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace railgauge::agent {

// Whether a fact is known, and the kind of reason if it is not.
enum class FactState : std::uint8_t {
  kUnknown,  // no privilege, no time, or not asked; `reason` names which and the remedy
  kKnown,
  kAbsent,  // the node has no such file or device
  kError,   // the source exists but cannot be read or does not parse; `reason` says why
};

// A fact without its value.
struct FactInfo {
  FactState state = FactState::kUnknown;
  std::string source{};  // path on the node ("/sys/module/nvidia/version") or call
  std::string reason{};  // one line; empty when absent or fully known

  [[nodiscard]] bool is_known() const { return state == FactState::kKnown; }
  [[nodiscard]] bool is_absent() const { return state == FactState::kAbsent; }
  // Unknown or an error: the thing may exist, but was not read.
  [[nodiscard]] bool is_open() const { return !is_known() && !is_absent(); }
  // Takes over the state of `other` if `other` is open and this fact is not: the value then
  // describes only a part.
  void spoil_by(const FactInfo& other) {
    if (!is_open() && other.is_open()) *this = other;
  }
};

// A value with its source.
template <class T>
struct Fact : FactInfo {
  T value{};

  // Returns the value if known, else `otherwise`.
  [[nodiscard]] T value_or(T otherwise) const { return is_known() ? value : std::move(otherwise); }
  [[nodiscard]] bool is(const T& expected) const { return is_known() && value == expected; }

  static Fact known(T value, std::string source) {
    return {{FactState::kKnown, std::move(source), {}}, std::move(value)};
  }
  static Fact absent(std::string source) {
    return {{FactState::kAbsent, std::move(source), {}}, T{}};
  }
  static Fact unknown(std::string source, std::string reason) {
    return {{FactState::kUnknown, std::move(source), std::move(reason)}, T{}};
  }
  static Fact error(std::string source, std::string reason) {
    return {{FactState::kError, std::move(source), std::move(reason)}, T{}};
  }
  // Returns the same state, source and reason as a fact of another type.
  template <class U>
  [[nodiscard]] Fact<U> without_value() const {
    return {*this, U{}};
  }
  // Returns `convert(value)` if the value is known, else the same state without a value.
  template <class Convert>
  [[nodiscard]] auto as(Convert convert) const {
    using U = std::remove_cvref_t<decltype(convert(value))>;
    return Fact<U>{*this, is_known() ? U(convert(value)) : U{}};
  }
};

}  // namespace railgauge::agent
