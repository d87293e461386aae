// Light, dark, or as the system says. public/theme.js applies the choice before the first paint.

export type Choice = 'system' | 'light' | 'dark';

function stored(): Choice {
  const value = localStorage.getItem('parley.theme');
  return value === 'light' || value === 'dark' ? value : 'system';
}

class Theme {
  choice = $state<Choice>(stored());

  set(choice: Choice): void {
    this.choice = choice;
    if (choice === 'system') {
      localStorage.removeItem('parley.theme');
      delete document.documentElement.dataset['theme'];
    } else {
      localStorage.setItem('parley.theme', choice);
      document.documentElement.dataset['theme'] = choice;
    }
  }

  next(): void {
    this.set(this.choice === 'system' ? 'dark' : this.choice === 'dark' ? 'light' : 'system');
  }
}

export const theme = new Theme();
