import { Args } from '@oclif/core';
import { PaddletCommand } from '../base-command.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { commandWords } from './words.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

export default class Completion extends PaddletCommand<typeof Completion> {
  static override summary = 'Print a script that completes command lines: bash, zsh or fish';
  static override description =
    `Completes commands, flags, the values of flags that have a few, and names of files. The script is made from this
executable and needs nothing else; install it again with a new version. It is read when a shell starts.`;
  static override examples = [
    {
      command: '<%= config.bin %> completion bash > ~/.local/share/bash-completion/completions/paddlet',
      description: 'For bash with the package bash-completion. Without it: source the script in ~/.bashrc.',
    },
    {
      command: '<%= config.bin %> completion zsh > ~/.zfunc/_paddlet',
      description: 'For zsh, with `fpath+=(~/.zfunc)` before `compinit` in ~/.zshrc.',
    },
    {
      command: '<%= config.bin %> completion fish > ~/.config/fish/completions/paddlet.fish',
      description: 'For fish.',
    },
  ];
  static override args = {
    shell: Args.string({ required: true, options: Object.keys(SCRIPTS), description: 'The shell.' }),
  };
  static override flags = {};

  override async execute(): Promise<void> {
    const script = SCRIPTS[this.args.shell as keyof typeof SCRIPTS](await commandWords(this.config.commands));
    this.output({ shell: this.args.shell, script }, () => script.trimEnd());
  }
}
