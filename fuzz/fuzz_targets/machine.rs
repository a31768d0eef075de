#![cfg_attr(fuzzing, no_main)]
tributary_fuzz::target!(machine);
