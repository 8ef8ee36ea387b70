// spyre/base/visible_cards.cpp — three variables, each checked against the one before.
#include "spyre/base/visible_cards.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "spyre/base/env.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre {
namespace {

std::size_t card_number(std::string_view word, const std::string& all, std::size_t of_machine) {
  while (word.starts_with(' ')) word.remove_prefix(1);
  while (word.ends_with(' ')) word.remove_suffix(1);
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size())
    reject_env_value(Env::Devices, all, str('"', word, "\" is no card's number"));
  if (number >= of_machine) {
    throw InvalidArgument(str("SPYRE_DEVICES: got ", all, "; this machine has ", of_machine,
                              " card(s), numbered from 0; try AIU_WORLD_SIZE=", number + 1));
  }
  return number;
}

std::vector<std::size_t> chosen_cards(std::size_t of_machine) {
  std::vector<std::size_t> numbers;
  const std::string all = env_text(Env::Devices);
  if (all.empty()) {
    for (std::size_t i = 0; i < of_machine; ++i) numbers.push_back(i);
    return numbers;
  }
  for (std::size_t begin = 0, end = 0; end != all.size(); begin = end + 1) {
    end = std::min(all.find(',', begin), all.size());
    const std::size_t number =
        card_number(std::string_view(all).substr(begin, end - begin), all, of_machine);
    if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
  }
  return numbers;
}

std::size_t first_card(std::size_t visible) {
  if (!env_is_set(Env::WorldSize)) return 0;
  const auto rank = static_cast<std::size_t>(env_integer(Env::LocalRank));
  if (rank < visible) return rank;
  throw InvalidArgument(str("LOCAL_RANK: got ", rank, "; this process sees ", visible,
                            " card(s), with indexes from 0; try AIU_WORLD_SIZE=", rank + 1,
                            ", without SPYRE_DEVICES"));
}

}  // namespace

VisibleCards visible_cards_from_environment() {
  VisibleCards cards;
  cards.of_machine = static_cast<std::size_t>(env_integer(Env::WorldSize));
  cards.numbers = chosen_cards(cards.of_machine);
  cards.first = first_card(cards.count());
  return cards;
}

}  // namespace spyre
