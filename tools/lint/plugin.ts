/** The lint rules of the project, as a plugin of `deno lint`. @module */
import { importDirection } from "./import_direction.ts";
import { noBarrel } from "./no_barrel.ts";
import { noClock } from "./no_clock.ts";
import { noConsole } from "./no_console.ts";
import { plainWords } from "./plain_words.ts";
import { portable } from "./portable.ts";
import { qualifiedNames } from "./qualified_names.ts";
import { sizes } from "./sizes.ts";
import { sqlText } from "./sql_text.ts";

export default {
  name: "svc",
  rules: {
    "import-direction": importDirection,
    "no-barrel": noBarrel,
    "no-clock": noClock,
    "no-console": noConsole,
    "plain-words": plainWords,
    "portable": portable,
    "qualified-names": qualifiedNames,
    "sizes": sizes,
    "sql-text": sqlText,
  },
} satisfies Deno.lint.Plugin;
